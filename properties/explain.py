"""Explanations: a row of a case in words, as the contract sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from properties.cases import Forward, Geometry
from properties.number_words import differ, plural
from properties.tensors import Batch
from properties.verdict import Source, Tap

MOST_BLOCKS = 8  # of a request that are named


def owner(case: Forward, row: int) -> int | None:
    """The request that owns a row, None for padding."""
    for index, (request, first) in enumerate(zip(case.requests, case.first_rows, strict=True)):
        if first <= row < first + request.length:
            return index
    return None


def locate(case: Forward, row: int, channel: int) -> dict[str, object]:
    """An output element by request, position and channel; padding by its row."""
    index = owner(case, row)
    if index is None:
        return {"padding row": row, "channel": channel}
    position = case.requests[index].start + row - case.first_rows[index]
    return {"request": index, "position": position, "channel": channel}


def named_blocks(blocks: Sequence[int | None]) -> str:
    """`block 3`, `blocks 3, 4`, `no blocks`, without those that were let go; of many the first ones."""
    held = [str(block) for block in blocks if block is not None]
    more = f" and {len(held) - MOST_BLOCKS} more" if len(held) > MOST_BLOCKS else ""
    return f"block{'' if len(held) == 1 else 's'} {', '.join(held[:MOST_BLOCKS])}{more}" if held else "no blocks"


def let(batch: Batch, row: int) -> str:
    """What the case is, for one row: its request's history, new tokens and blocks."""
    case = batch.case
    geometry, index = case.geometry, owner(case, row)
    sizes = f"N = {geometry.N}, W = {geometry.W}"
    if index is None:
        slot = int(batch.slots[row])
        return f"row {row} is padding (slot {slot}) behind {plural(case.rows, 'row')} of requests, {sizes}"
    request = case.requests[index]
    blocks = list(batch.placement.blocks[index].values())
    stored = f" (window and new rows in {named_blocks(blocks)})" if blocks else ""
    fork = f", a fork of request {request.fork}" if request.fork is not None else ""
    return (
        f"request {index}{fork} has {plural(request.start, 'token')} in the cache and "
        f"{plural(request.length, 'new token')}{stored}, {sizes}"
    )


def meant(batch: Batch, row: int, channel: int) -> tuple[Tap, ...]:
    """Where each tap of an output element comes from; none where the row has no slot."""
    case = batch.case
    index = owner(case, row)
    if int(batch.slots[row]) < 0 or index is None:
        return ()
    first, start = case.first_rows[index], case.requests[index].start
    return taps(start + row - first, channel, start, first, case.geometry, batch.placement.blocks[index])


def then(batch: Batch, row: int, sources: Sequence[Tap]) -> str:
    """What follows from the contract: where each tap of a row comes from."""
    case = batch.case
    if int(batch.slots[row]) < 0:
        value = "its own x" if case.use_residual else "0"
        return f"row {row} has slot {int(batch.slots[row])}: it stores nothing and its output is {value}"
    return sum_words(locate(case, row, 0)["position"], sources, case.activation, case.use_residual)


def taps(
    position: int,
    channel: int,
    start: int,
    first_row: int,
    geometry: Geometry,
    blocks: Mapping[int, int] | Sequence[int | None],
) -> tuple[Tap, ...]:
    """Where each tap of a position comes from: `x`, a block of the request by logical number, or before its start."""
    sources = []
    head, d = divmod(channel, geometry.ws)
    for source in range(position - (geometry.W - 1), position + 1):
        if source < 0:
            sources.append(Source("nothing", source))
        elif source >= start:
            sources.append(Source("x", source, row=first_row + source - start, channel=channel))
        else:
            block, offset = divmod(source, geometry.N)
            d_of_row = geometry.off_s + d
            sources.append(Source("cache", source, block=blocks[block], offset=offset, head=head, d=d_of_row))
    return tuple(Tap(index, source) for index, source in enumerate(sources))


def tap_words(position: object, sources: Sequence[Tap]) -> str:
    """Where the taps of a position come from, in words."""
    words = [
        f"tap {tap.index} is "
        + (f"0 (position {tap.meant.position})" if tap.meant.kind == "nothing" else str(tap.meant))
        for tap in sources
    ]
    return f"position {position}: {', '.join(words)}"


def sum_words(position: object, sources: Sequence[Tap], activation: object, use_residual: object) -> str:
    """Where the taps of a position come from, and what becomes of their sum, in words."""
    words, own = tap_words(position, sources), sources[-1].meant
    total = "the SiLU of their weighted sum" if activation else "their weighted sum"
    if use_residual:
        return f"{words}; {own} is added to {total}"
    return f"{words}; it is {total}" if activation else words


def cluster(batch: Batch, wrong: torch.Tensor) -> str:
    """How many elements differ, by a mask `[T, C]`, and what they have in common."""
    case, geometry = batch.case, batch.case.geometry
    rows = sorted(set(wrong.any(dim=1).nonzero().flatten().tolist()))
    channels = sorted(set(wrong.any(dim=0).nonzero().flatten().tolist()))
    owners = {owner(case, row) for row in rows}
    count, total = int(wrong.sum()), wrong.numel()
    words = differ(count, total, "element")
    if count in (1, total):
        return words
    if owners == {None}:
        return f"{words}, all in padding rows"
    common = []
    first = "row" if geometry.W == 2 else f"{geometry.W - 1} rows"
    if len(owners) == 1 and len(case.requests) > 1:
        common.append(f"of request {owners.copy().pop()}")
    if len(rows) == 1 and case.T > 1:
        common.append(f"in row {rows[0]}")
    elif case.T > len(rows) and bool((batch.slots[rows] < 0).all()):
        common.append("in rows without a slot")
    elif all(_is_early(case, row) for row in rows) and _has_later_rows(case):
        common.append(f"in the first {first} of a request, whose taps reach back before the forward")
    heads = {channel // geometry.ws for channel in channels}
    if len(channels) == 1 and geometry.C > 1:
        common.append(f"in channel {channels[0]}")
    elif len(channels) < geometry.C and len(heads) == 1 and geometry.H > 1:
        common.append(f"of head {min(heads)}")
    elif len(channels) < geometry.C and channels[-1] - channels[0] + 1 == len(channels):
        common.append(f"in channels {channels[0]} to {channels[-1]}")
    return f"{words}, all {' '.join(common)}" if common else words


def _has_later_rows(case: Forward) -> bool:
    """Whether a row with a slot has all its taps in this forward, so that it says something that it is right."""
    return any(not _is_early(case, row) and row not in case.holes for row in range(case.rows))


def _is_early(case: Forward, row: int) -> bool:
    """Whether a row lies less than W - 1 rows behind its request's first one: it has taps before the forward."""
    index = owner(case, row)
    return index is not None and row - case.first_rows[index] < case.geometry.W - 1
