"""Origins: where an element's taps really came from: read back from the cache, clamped, or another element's."""

from __future__ import annotations

from dataclasses import replace

import torch

from properties import entries, lines, shares
from properties.calls import Call
from properties.cells import address, single
from properties.contents import bits
from properties.probing import Found, Probe
from properties.verdict import Source, Tap


def find(probe: Probe) -> Found:
    """What a probe finds, with rows of x that were read back from the cache as what they are. Raises TooLong."""
    found = probe.find()
    if not found.is_complete:
        return replace(found, strange=shares.told(probe, found.strange))
    cells = [_read_back(probe, tap, its) for tap, its in zip(found.taps, found.cells, strict=True)]
    taps = [
        replace(tap, came=probe.came(now)) if now != before else tap
        for tap, now, before in zip(found.taps, cells, found.cells, strict=True)
    ]
    is_shifted = all(tap.is_wrong for tap in taps if tap.meant.kind != "nothing")  # then all of the window moved
    found = entries.told(probe, replace(found, taps=tuple(taps), cells=cells))
    taps = [tap if is_shifted or found.by else _clamped(probe, tap) for tap in found.taps]
    return replace(found, taps=tuple(taps))


def _read_back(probe: Probe, tap: Tap, cells: list[int]) -> list[int]:
    """The cells of a tap, those of the cache in place of rows of x that are read from where this forward stores them.

    Both hold the same then, unless the row is stored elsewhere: so its slot is another one in this call. A tap that
    is right this way is so by the order of a store and a load alone. What moves with the slot is seen by its loads.
    """
    read = list(cells)
    for cell in dict.fromkeys(cells):
        name, index = probe.inputs.place(cell)
        if name != "x" or index is None or probe.call.slot(index[0]) < 0:
            continue
        moved = _elsewhere(probe, index[0])
        kept = probe.inputs.number("cache", probe.call.stored_at(*index))
        found = 0
        if moved is not None:
            count = probe.value(single(probe.inputs, kept), probe.one_hot(tap.index), slot_mapping=moved)
            found = int(count) if count in range(1, cells.count(cell) + 1) else 0
        if not found and tap.is_wrong and _is_loaded_by_slot(probe, index, moved):
            found = cells.count(cell)
        for _ in range(found):
            read[read.index(cell)] = kept
    return read


def _elsewhere(probe: Probe, row: int) -> torch.Tensor | None:
    """The slots with a free one for a row, of another block and the same offset if there is one; None without any."""
    slots, N = probe.call.arguments["slot_mapping"], int(probe.call.arguments["block_size"])
    taken, own = set(slots.tolist()), probe.call.slot(row)
    every = range(len(probe.call.arguments["cache"]) * N)
    free = (slot for some in (every[own % N :: N], every) for slot in some if slot not in taken)
    if (slot := next(free, None)) is None:
        return None
    moved: torch.Tensor = slots.clone()
    moved[row] = slot
    return moved


def _is_loaded_by_slot(probe: Probe, index: tuple[int, ...], moved: torch.Tensor | None) -> bool:
    """Whether the element's lane loads the slot of an input, and not the input; or loads where its slot is moved to."""
    call, accesses = probe.call, probe.accesses
    lane = lines.writer(accesses, probe.out, probe.at)
    if accesses is None or lane is None:
        return False
    kept = address(call.arguments["cache"], call.stored_at(*index))
    if not accesses.loads(kept, lane):
        return False
    if not accesses.loads(address(call.arguments["x"], index), lane):
        return True
    if moved is None:
        return False
    given = {**call.arguments, "slot_mapping": moved}
    there = address(call.arguments["cache"], Call(given).stored_at(*index))
    out, after = probe.rerun(given)
    lane_after = lines.writer(after, out, probe.at)
    if after is None or lane_after is None:
        return False
    return len(after.loads(there, lane_after)) > len(accesses.loads(there, lane))


def is_raced(tap: Tap) -> bool:
    """Whether a tap that should come from this forward's rows was read from the cache, where they are stored."""
    return tap.meant.kind == "x" and tap.came is not None and tap.came.kind == "cache"


def _clamped(probe: Probe, tap: Tap) -> Tap:
    """A tap, with a note where clamping a row or a position gives the wrong place that it came from."""
    if not tap.is_wrong or tap.came is None or tap.meant.position is None or tap.meant.kind == "x":
        return tap
    note = "; ".join(filter(None, (tap.came.note, _clamping(probe, tap.came, tap.meant.kind == "nothing"))))
    return replace(tap, came=replace(tap.came, note=note))


def _clamping(probe: Probe, came: Source, is_before: bool) -> str:
    """That clamping gives a place, in words; a position only where the tap's is before the start, a row anywhere."""
    call, row = probe.call, probe.row
    first = call.first_row(row)
    if came.kind == "x" and came.row in (0, first) and _is_loaded(probe, (came.row, came.channel)):
        which = "the request's first" if came.row == first else "the first of all"
        return f"as if the row were clamped to {came.row}, {which}"
    table = call.before("block_table")
    owner = int(call.before("seq_idx")[row])
    if (
        is_before
        and came.kind == "cache"
        and came.offset == 0
        and table.shape[1]
        and came.block == int(table[owner, 0])
    ):
        return "as if the position were clamped to 0"
    return ""


def _is_loaded(probe: Probe, index: tuple[int | None, int | None]) -> bool:
    """Whether the element's lane loads an input, as far as the engine sees."""
    lane = lines.writer(probe.accesses, probe.out, probe.at)
    where = address(probe.call.arguments["x"], index)  # type: ignore[arg-type]  # a row of x has both
    return probe.accesses is None or lane is None or bool(probe.accesses.loads(where, lane))


def another(probe: Probe, found: Found) -> tuple[int, int] | None:
    """The row and channel whose taps, weights and residual an element has, though its own row was read rightly.

    That is so where the input of its row is in its slot afterwards, as far as it has one: what is wrong is the store.
    """
    call, own = probe.call, (probe.row, probe.channel)
    newest = found.added if call.arguments["use_residual"] else found.cells[-1]
    name, index = probe.inputs.place(newest[0]) if found.is_complete and len(newest) == 1 else ("", None)
    if name != "x" or index is None or index == own or call.slot(index[0]) < 0:
        return None
    row, channel = index
    for tap, meant, cells in zip(found.taps, call.meant(row, channel), found.cells, strict=True):
        number = probe.number(meant.meant)
        if cells != [one for one in (number,) if one is not None] or tap.weight not in (None, (channel, tap.index)):
            return None
    return (row, channel) if _is_in_its_slot(probe) else None


def _is_in_its_slot(probe: Probe) -> bool:
    """Whether the input of the probed row was stored to its slot, if it has one: so the row was read from its place."""
    call, own = probe.call, (probe.row, probe.channel)
    if call.slot(probe.row) < 0:
        return True
    where = probe.inputs.number("cache", call.stored_at(*own)) - probe.inputs.first["cache"]
    held = probe.after["cache"].flatten()[where : where + 1].cpu()
    return bool(bits(held) == bits(call.before("x")[own].reshape(1)))
