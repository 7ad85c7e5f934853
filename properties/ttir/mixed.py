"""Pointers whose tensor differs from lane to lane, and addresses that went through integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .memory import Buffer
from .pointers import Pointer
from .run import Run


class Mixed:
    """Numbers of several buffers, and for each lane which of them it points into."""

    __slots__ = ("bases", "ids")

    def __init__(self, bases: tuple[int, ...], ids: Any) -> None:
        self.bases = bases
        self.ids = ids

    def changed(self, change: Callable[[Any], Any]) -> Mixed:
        """Applies a change of shape to the lanes' numbers."""
        return Mixed(self.bases, change(self.ids))


def choose_base(condition: Any, one: Pointer, two: Pointer) -> Mixed:
    """Returns the base of a select between pointers into different tensors."""
    bases: list[int] = []
    numbers = []
    for pointer in (one, two):
        base = pointer.base
        parts = base.bases if isinstance(base, Mixed) else (base,)
        ids = base.ids if isinstance(base, Mixed) else np.zeros((1,) * pointer.rank, np.int16)
        places = []
        for number in parts:
            if number not in bases:
                bases.append(number)
            places.append(bases.index(number))
        numbers.append(np.array(places, np.int16)[ids])
    return Mixed(tuple(bases), np.where(condition, *numbers))


def pieces(pointer: Pointer) -> Iterator[tuple[Pointer, Any]]:
    """Yields a pointer into each tensor, with the lanes that it stands for; None means all."""
    base = pointer.base
    if not isinstance(base, Mixed):
        yield pointer, None
        return
    for place, number in enumerate(base.bases):
        chosen = base.ids == place
        if chosen.any():
            yield Pointer(number, (pointer.offset(),), pointer.low, pointer.high, pointer.rank), chosen


def from_addresses(run: Run, addresses: Any, item: int, nowhere: Buffer) -> Pointer:
    """Finds the tensor of each address among a launch's arguments; `nowhere` stands for none."""
    count = run.argument_count
    ids = np.full(addresses.shape, count, np.int16)
    offset = np.zeros(addresses.shape, np.int64)
    for number, buffer in enumerate(run.buffers[:count]):
        within = (addresses >= buffer.address) & (addresses < buffer.end)
        ids = np.where(within, np.int16(number), ids)
        offset = np.where(within, (addresses - buffer.address) // item, offset)
    low, high = int(offset.min()), int(offset.max())
    run.buffers.append(nowhere)
    bases = (*range(count), len(run.buffers) - 1)
    return Pointer(Mixed(bases, ids), (offset,), low, high, addresses.ndim)
