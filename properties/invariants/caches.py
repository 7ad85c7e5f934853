"""Caches: the violation of an element of the cache, by what it is, what it should be, and what came there instead."""

from __future__ import annotations

from typing import Any

import torch

from properties import causes, explain
from properties.calls import Call
from properties.contents import bits
from properties.invariants.run import number
from properties.memory import Guarded
from properties.number_words import differ, have
from properties.tensors import Batch, expected_cache
from properties.verdict import Violation


def element(guarded: Guarded, where: int) -> dict[str, object]:
    """An index into a guarded allocation as a multi-dimensional index, or as a place between the elements."""
    index = _index(guarded, where)
    if index is None:
        return {"memory around it, element": where - guarded.view.storage_offset()}
    if guarded.name == "cache":
        return dict(zip(("block", "head", "offset", "d"), index, strict=True))
    if guarded.name == "x":
        return dict(zip(("row", "channel"), index, strict=True))
    return {"element": index if len(index) > 1 else index[0]}


def _index(guarded: Guarded, where: int) -> tuple[int, ...] | None:
    """The element of the view that a place in the memory is, None for one between or around its elements."""
    view, rest = guarded.view, where - int(guarded.view.storage_offset())
    if guarded.memory is view:
        return tuple(int(i) for i in torch.unravel_index(torch.tensor(where), view.shape))
    index, strides = [0] * view.ndim, tuple(view.stride())
    for axis in sorted(range(view.ndim), key=lambda axis: -strides[axis]):
        if view.shape[axis] > 1:
            index[axis], rest = divmod(rest, strides[axis])
        if not 0 <= index[axis] < view.shape[axis]:
            return None
    return tuple(index) if rest == 0 else None


def row_of(batch: Batch, where: dict[str, object]) -> int | None:
    """The row whose input belongs at an element of the cache, None where no row of the forward does."""
    geometry = batch.case.geometry
    if not isinstance(d := where.get("d"), int) or not geometry.off_s <= d < geometry.off_s + geometry.ws:
        return None
    slot = int(str(where["block"])) * geometry.N + int(str(where["offset"]))
    rows = (batch.slots == slot).nonzero().flatten()
    return int(rows[0]) if len(rows) else None


def owed(batch: Batch, where: dict[str, object]) -> str:
    """What the contract says of an element of the cache after a forward."""
    geometry = batch.case.geometry
    row = row_of(batch, where)
    if row is not None:
        return f"row {row} has slot {int(batch.slots[row])}, so x[{row}] is stored there"
    if "d" not in where:
        return "only elements of the cache that belong to the slot of a row may change"
    d = int(str(where["d"]))
    if not geometry.off_s <= d < geometry.off_s + geometry.ws:
        return f"the stream owns d {geometry.off_s} to {geometry.off_s + geometry.ws - 1} alone; the others stay"
    slot = int(str(where["block"])) * geometry.N + int(str(where["offset"]))
    return f"no row has slot {slot}, so what is there stays"


def difference(
    ops: Any, property_name: str, batch: Batch, where: int, wanted: str, but: str, other: Batch | None = None
) -> Violation:
    """The violation of place `where` in the memory of a batch's cache; `wanted` is in words.

    other: the batch whose cache, of the same shape, it was compared with.
    """
    cache = batch.guarded["cache"]
    place = element(cache, where)
    row = row_of(batch, place)
    slots = batch.slots
    count = int((slots >= 0).sum())
    stores = f"{have(count, len(slots), 'row')} a slot"
    found = Violation(
        property_name,
        "cache",
        where=place,
        got=number(cache.memory.flatten()[where]),
        wanted=wanted,
        let=explain.let(batch, row) if row is not None else stores,
        then=owed(batch, place),
        but=but,
        case=batch.case,
    )
    right = bits(expected_cache(batch).flatten()[where]) == bits(cache.memory.flatten()[where])
    if other is not None and bool(right) and (index := _index(cache, where)) is not None:
        found.found("this is right, the other run is wrong")
        batch, where = other, other.guarded["cache"].where(index)
    held = batch.guarded["cache"].memory.flatten()[where].clone()
    return found.because(causes.memory(ops.rerun, Call.of(batch), where, held))


def compare(ops: Any, property_name: str, batch: Batch, other: Batch, how: str) -> None:
    """Raises the violation of the first element of a batch's cache that is not what the other's holds afterwards.

    how: the other run in words, such as "as in a contiguous cache".
    """
    __tracebackhide__ = True
    wrong = bits(batch.cache) != bits(other.cache)
    if wrong.any():
        index = tuple(int(i) for i in wrong.nonzero()[0])
        where = batch.guarded["cache"].where(index)
        but = differ(int(wrong.sum()), wrong.numel(), "element", " of the cache")
        raise difference(ops, property_name, batch, where, f"{number(other.cache[index])}, {how}", but, other)
