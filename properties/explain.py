"""Explanations: a row of a case in words, as the contract sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from properties.cases import Forward, Geometry
from properties.tensors import Batch


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


def plural(count: int, noun: str) -> str:
    """`1 block`, `2 blocks`, `no blocks`."""
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def let(batch: Batch, row: int) -> str:
    """What the case is, for one row: its request's history, new tokens and blocks."""
    case = batch.case
    geometry, index = case.geometry, owner(case, row)
    sizes = f"N = {geometry.N}, W = {geometry.W}"
    if index is None:
        slot = int(batch.slots[row])
        return f"row {row} is padding (slot {slot}) behind {plural(case.rows, 'row')} of requests, {sizes}"
    request = case.requests[index]
    noun = "block" if len(batch.placement.blocks[index]) == 1 else "blocks"
    blocks = ", ".join(str(block) for block in batch.placement.blocks[index].values())
    stored = f" (window and new rows in {noun} {blocks})" if blocks else ""
    fork = f", a fork of request {request.fork}" if request.fork is not None else ""
    return (
        f"request {index}{fork} has {plural(request.start, 'token')} in the cache and "
        f"{plural(request.length, 'new token')}{stored}, {sizes}"
    )


def then(batch: Batch, row: int) -> str:
    """What follows from the contract: where each tap of a row comes from."""
    case = batch.case
    index = owner(case, row)
    if int(batch.slots[row]) < 0:
        value = "its own x" if case.use_residual else "0"
        return f"row {row} has slot {int(batch.slots[row])}: it stores nothing and its output is {value}"
    assert index is not None  # only padding has no owner, and padding has no slot
    first, start = case.first_rows[index], case.requests[index].start
    return taps(start + row - first, start, first, case.geometry, batch.placement.blocks[index])


def taps(
    position: int, start: int, first_row: int, geometry: Geometry, blocks: Mapping[int, int] | Sequence[int | None]
) -> str:
    """Where each tap of a position comes from: `x`, a block of the request by logical number, or before its start."""
    sources = []
    for tap in range(geometry.W):
        source = position - (geometry.W - 1) + tap
        if source < 0:
            sources.append(f"tap {tap} is 0 (position {source})")
        elif source >= start:
            sources.append(f"tap {tap} is x[{first_row + source - start}]")
        else:
            block, offset = divmod(source, geometry.N)
            sources.append(f"tap {tap} is block {blocks[block]} offset {offset}")
    return f"position {position}: " + ", ".join(sources)


def cluster(batch: Batch, wrong: torch.Tensor) -> str:
    """How many elements differ, by a mask `[T, C]`, and what they have in common."""
    case = batch.case
    rows = set(wrong.any(dim=1).nonzero().flatten().tolist())
    channels = set(wrong.any(dim=0).nonzero().flatten().tolist())
    owners = {owner(case, row) for row in rows}
    count, total = int(wrong.sum()), wrong.numel()
    words = f"{count} of {plural(total, 'element')} differ" + ("s" if count == 1 else "")
    if count == total:
        return words
    if owners == {None}:
        return f"{words}, all in padding rows"
    common = []
    if len(owners) == 1 and len(case.requests) > 1:
        common.append(f"of request {owners.copy().pop()}")
    if len(rows) == 1 and case.T > 1:
        common.append(f"in row {min(rows)}")
    if len(channels) == 1 and case.geometry.C > 1:
        common.append(f"in channel {min(channels)}")
    return f"{words}, all {' '.join(common)}" if common else words
