"""Writer maps that outlive launches: tokens only grow, so nothing is cleared between them."""

from __future__ import annotations

import mmap

import numpy as np

# beyond this many positions a map is reserved address space, of which only touched pages exist
DENSE_POSITIONS = 1 << 22
MAP_NORESERVE = 0x4000  # Linux; mmap's module names it only from Python 3.11 on
LAST_TOKEN = 2**31 - 2


class Map:
    """One int32 per position: the token of the last write; tokens below the launch's base are stale."""

    def __init__(self, positions: int) -> None:
        self.positions = positions
        self.is_reserved = positions > DENSE_POSITIONS
        if self.is_reserved:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
            self.array = np.frombuffer(mmap.mmap(-1, positions * 4, flags=flags), np.int32)
        else:
            self.array = np.zeros(positions, np.int32)


class Maps:
    """A pool of maps; the reserved ones are dropped after use, so sparse runs do not pile up pages."""

    def __init__(self) -> None:
        self.free: list[Map] = []

    def take(self, positions: int) -> Map:
        for number, found in enumerate(self.free):
            if found.positions >= positions:
                return self.free.pop(number)
        # room to spare, so that the next, slightly larger launch finds it
        return Map(positions if positions > DENSE_POSITIONS else max(1 << 12, 2 * positions))

    def give(self, used: Map) -> None:
        if not used.is_reserved:
            self.free.append(used)
            self.free.sort(key=lambda found: found.positions)
            del self.free[8:]  # a kernel stores to few tensors; more would only hold memory

    def clear(self) -> None:
        self.free.clear()


class Tokens:
    """Hands out int32 numbers, one per lane stored; a launch's numbers start at `base`."""

    def __init__(self, maps: Maps) -> None:
        self.maps = maps
        self.base = 1
        self.next = 1

    def begin(self) -> None:
        """Starts a launch; far from the last number nothing needs clearing."""
        if self.next > LAST_TOKEN // 2:
            self.maps.clear()
            self.next = 1
        self.base = self.next

    def reserve(self, count: int) -> int:
        first = self.next
        if first + count > LAST_TOKEN:
            raise OverflowError(f"one launch stores more than {LAST_TOKEN - self.base} lanes")
        self.next += count
        return first


MAPS = Maps()
TOKENS = Tokens(MAPS)
