"""Pointers as (tensor, element offset), offsets kept as unjoined sums."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np


class Pointer:
    """A tile of addresses: the number of a buffer, or a `Mixed` of several, and the broadcast sum of `parts`.

    Parts stay apart while they have different shapes, so a row term [.., 8, 1] and a column term
    [.., 1, 256] meet only where memory is touched. No part at all stands for offset 0 in `rank` axes.
    `low` and `high` bound every lane's offset.
    """

    __slots__ = ("base", "high", "joined", "low", "parts", "rank")

    def __init__(self, base: Any, parts: tuple[Any, ...], low: int, high: int, rank: int) -> None:
        self.base = base
        self.parts = parts
        self.low = low
        self.high = high
        self.rank = rank
        self.joined: Any = None

    def offset(self) -> Any:
        """Joins the parts, once."""
        total = self.joined
        if total is None:
            parts = self.parts
            if len(parts) == 1:
                total = parts[0]
            elif not parts:
                total = np.zeros((1,) * self.rank, np.int64)
            else:
                parts = tuple(sorted(parts, key=_size))
                total = parts[0] + parts[1]
                for part in parts[2:]:
                    total = total + part
            self.joined = total
        return total

    def shifted(self, offset: Any, low: int, high: int) -> Pointer:
        """Returns this pointer moved by `offset` elements, whose lanes lie in [low, high]."""
        wide = offset if offset.dtype is INT64 else offset.astype(INT64)
        parts = self.parts
        low += self.low
        high += self.high
        if not parts:
            return Pointer(self.base, (wide,), low, high, self.rank)
        shape = wide.shape
        for position, part in enumerate(parts):
            if part.shape == shape or _merges(part.shape, shape):
                if len(parts) == 1:
                    return Pointer(self.base, (part + wide,), low, high, self.rank)
                joined = (*parts[:position], part + wide, *parts[position + 1 :])
                return Pointer(self.base, joined, low, high, self.rank)
        return Pointer(self.base, (*parts, wide), low, high, self.rank)

    def settle(self, before: Any, added: Any) -> Any:
        """Says which lanes' sums wrapped in 64 bits, and bounds the offset by what the lanes hold."""
        total = self.offset()
        self.low, self.high = int(total.min()), int(total.max())
        return ((before ^ total) & (added.astype(INT64) ^ total)) < 0

    def reshaped(self, change: Callable[[Any], Any], rank: int) -> Pointer:
        """Applies a change of shape that treats every part alike; `rank` is the new number of axes."""
        base = self.base if type(self.base) is int else self.base.changed(change)
        return Pointer(base, tuple([change(part) for part in self.parts]), self.low, self.high, rank)

    def whole(self, change: Callable[[Any], Any], rank: int) -> Pointer:
        """Applies a change that mixes lanes to the joined offset."""
        base = self.base if type(self.base) is int else self.base.changed(change)
        return Pointer(base, (change(self.offset()),), self.low, self.high, rank)


INT64 = np.dtype(np.int64)


def _size(part: Any) -> int:
    return part.size


@lru_cache(maxsize=4096)
def _merges(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Says whether the sum of two parts is no larger than the larger of them."""
    return _covers(one, other) or _covers(other, one)


def _covers(large: tuple[int, ...], small: tuple[int, ...]) -> bool:
    return all(one == other or other == 1 for one, other in zip(large, small, strict=True))
