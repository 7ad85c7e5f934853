"""Entries: which entry of the block table, or which row's metadata, a wrong tap was found by.

An entry is changed in place and the call made again: only what then moves the tap is said to have led to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch

from properties.calls import Entry
from properties.cells import single
from properties.probing import Found, Probe
from properties.verdict import Tap

METADATA = ("seq_idx", "positions", "query_start")
MOST_TAPS = 3  # whose entries are looked for
SECONDS = 1.0  # that this may take
Rows = list[int]


def told(probe: Probe, found: Found) -> Found:
    """What a probe found, with the entry that the first wrong taps were found by: of another row, or column."""
    wrong = [tap for tap in found.taps if tap.is_wrong and not tap.is_repeated and len(found.cells[tap.index]) < 2]
    passes = 2 * len(METADATA) * bool(wrong) + 8 * len(wrong[:MOST_TAPS])
    if not wrong or passes * probe.seconds > SECONDS:
        return found
    if entry := _of_metadata(probe, wrong[0]):
        return _noted(replace(found, by=entry), wrong[0], entry)
    for tap in wrong[:MOST_TAPS]:
        if entry := _of_table(probe, tap):
            found = _noted(replace(found, by=entry) if tap is wrong[0] else found, tap, entry)
    return found


def _noted(found: Found, tap: Tap, entry: Entry) -> Found:
    """What was found, with an entry in the words of a tap."""
    assert tap.came is not None
    note = "; ".join(filter(None, (tap.came.note, entry.words)))
    taps = [replace(one, came=replace(tap.came, note=note)) if one is tap else one for one in found.taps]
    return replace(found, taps=tuple(taps))


def _of_metadata(probe: Probe, tap: Tap) -> Entry | None:
    """The metadata of another row without which the tap comes from its place."""
    call, row = probe.call, probe.row
    table = call.arguments["block_table"]
    blocks = len(call.arguments["cache"])
    if _is_right(probe, tap):  # as what is added without a weight may look here
        return None
    is_lost = tap.came is not None and tap.came.kind == "nothing"  # as where a row is taken for one without a slot
    for name in (*METADATA, "slot_mapping") if is_lost else METADATA:
        values = call.arguments[name]
        instead = values[row].expand_as(values) if name != "slot_mapping" else _with_slots(probe, values)
        differing = (values != instead).nonzero().flatten().tolist()

        def is_right(rows: Rows, values: torch.Tensor = values, instead: torch.Tensor = instead) -> bool:
            """Whether the tap is right where these rows have other numbers, mostly this row's."""
            changed = values.clone()
            changed[rows] = instead[rows]
            with _holding(table, table.clamp(0, blocks - 1)), _holding(values, changed):  # for rows of other columns
                return _is_right(probe, tap)

        if differing and (found := _one_of(differing, is_right)) is not None:
            return Entry(name, (found,), f"by {name}[{found}], which is row {found}'s")
    return None


def _of_table(probe: Probe, tap: Tap) -> Entry | None:
    """The entry of the block table, another one than the tap's, that names the block that the tap came from."""
    call, came, meant = probe.call, tap.came, tap.meant
    if came is None or came.kind != "cache" or meant.kind != "cache" or meant.position is None:
        return None
    N, table = int(call.arguments["block_size"]), call.arguments["block_table"]
    own, column = int(call.before("seq_idx")[probe.row]), meant.position // N
    taken = {came.block, *(slot // N for slot in call.before("slot_mapping").tolist())}
    free = next((block for block in range(len(call.arguments["cache"])) if block not in taken), None)
    named = (table == came.block).nonzero().tolist()
    places = [(row, at) for row, at in named if (row, at) != (own, column)]
    if free is None or not places:
        return None
    there = probe.inputs.number("cache", (free, came.head, came.offset, came.d))  # type: ignore[arg-type]  # it has all

    def moves(some: Rows) -> bool:
        """Whether the tap comes from another block where these entries name that one."""
        changed = table.clone()
        for one in some:
            changed[places[one]] = free
        with _holding(table, changed):
            return probe.value(single(probe.inputs, there), probe.one_hot(tap.index)) == 1

    found = _one_of(list(range(len(places))), moves)
    if found is None:
        return None
    row, at = places[found]
    owners = {int(owner) for owner in call.before("seq_idx")[call.before("slot_mapping") >= 0]}
    whose = f"request {row}'s block table row" if row in owners else f"row {row} of the block table"
    words = f"column {at} of {whose}" if row != own else f"column {at} of its block table row, not column {column}"
    return Entry("block_table", (row, at), words)


def _with_slots(probe: Probe, slots: torch.Tensor) -> torch.Tensor:
    """The slots, with free ones for rows that have none: a row that has one may be taken for another that has not."""
    N = int(probe.call.arguments["block_size"])
    lacking = (slots < 0).nonzero().flatten().tolist()
    needed = ((tap.meant.block, tap.meant.offset) for tap in probe.meant)
    taken = {
        *slots.tolist(),
        *(block * N + offset for block, offset in needed if block is not None and offset is not None),
    }
    free = (slot for slot in range(len(probe.call.arguments["cache"]) * N) if slot not in taken)
    filled = slots.clone()
    for row, slot in zip(lacking, free, strict=False):
        filled[row] = slot
    return filled


def _is_right(probe: Probe, tap: Tap) -> bool:
    """Whether a tap comes from its place alone."""
    number, weights = probe.number(tap.meant), probe.one_hot(tap.index)
    count = probe.value(torch.ones(probe.inputs.count), weights)
    return count == (number is not None) and (number is None or probe.value(single(probe.inputs, number), weights) == 1)


def _one_of(some: Rows, holds: Callable[[Rows], bool]) -> int | None:
    """The one for which alone something holds, by halving; None where it does not hold of all, or of no single one."""
    if not holds(some):
        return None
    while len(some) > 1:
        half = some[: len(some) // 2]
        some = half if holds(half) else some[len(half) :]
    return some[0] if holds(some) else None


@contextmanager
def _holding(tensor: torch.Tensor, values: torch.Tensor) -> Iterator[None]:
    """A tensor with other values in its place, which are put back: strides and addresses stay."""
    before = tensor.clone()
    tensor.copy_(values)
    try:
        yield
    finally:
        tensor.copy_(before)
