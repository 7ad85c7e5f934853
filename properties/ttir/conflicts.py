"""Who wrote where: writer maps per extent of memory, judged over a whole launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .counting import count
from .meetings import judge_atomics
from .report import duplicate_lanes, read_conflicts, reads_of_own_writes, rewritten
from .scratch import Map, Tokens

if TYPE_CHECKING:
    from .memory import Buffer
    from .program import Operation
    from .run import Run


@dataclass(slots=True)
class Access:
    """One vectorised access: which operation, when, by which programs and lanes."""

    operation: Operation
    buffer: Buffer
    sequence: int
    # barriers passed before: one number, or one for each program where they differ
    epoch: Any
    full: tuple[int, ...]
    start: tuple[int, ...]
    # which of the full tile's lanes took part; None means all
    allowed: np.ndarray | None
    first_token: int = 0
    count: int = 0
    offset: Any = None
    # offsets of only the lanes that took part, one after another
    is_flat: bool = False

    def lanes(self, positions: np.ndarray) -> np.ndarray:
        """Turns positions among the lanes that took part into positions in the full tile."""
        if self.allowed is None:
            return positions
        return np.flatnonzero(self.allowed)[positions]

    def programs(self) -> np.ndarray:
        """Returns the linear program number (within the launch) of every lane that took part."""
        axes = len(self.start)
        numbers = np.zeros((1,) * axes, np.int64)
        for axis in range(axes):
            shape = [1] * axes
            shape[axis] = -1
            numbers = numbers * _SPREAD + (self.start[axis] + np.arange(self.full[axis])).reshape(shape)
        numbers = numbers.reshape(numbers.shape + (1,) * (len(self.full) - axes))
        return self._spread(numbers)

    def epochs(self, positions: np.ndarray) -> Any:
        """Returns how many barriers came before the access, for positions among the lanes that took part."""
        if type(self.epoch) is int:
            return self.epoch
        axes = len(self.start)
        return self._spread(self.epoch.reshape(self.epoch.shape + (1,) * (len(self.full) - axes)))[positions]

    def _spread(self, numbers: np.ndarray) -> np.ndarray:
        wide = np.broadcast_to(numbers, self.full)
        return wide.ravel() if self.allowed is None else wide[self.allowed]

    def flatten(self) -> None:
        """Keeps the offsets of only the lanes that took part."""
        if self.is_flat:
            return
        wide = np.broadcast_to(self.offset, self.full)
        self.allowed = None if self.allowed is None else np.broadcast_to(self.allowed, self.full)
        self.offset = wide.ravel() if self.allowed is None else wide[self.allowed]
        self.is_flat = True


# program numbers of up to three axes are packed into one int64; no axis reaches 2^21 programs in one map
_SPREAD = np.int64(1 << 21)


class Extent:
    """Overlapping storages of one launch: a writer map over their smallest items, and logged reads."""

    def __init__(self, run: Run, address: int, end: int, unit: int) -> None:
        self.run = run
        self.address = address
        self.unit = unit
        self.units = (end - address) // unit
        self.tokens: Tokens = run.tokens
        self.map: Map | None = None
        self.writes: list[Access] = []
        # how many of them earlier chunks made: those are other programs'
        self.settled = 0
        # their first tokens; room to spare, as a loop may store thousands of times
        self.firsts = np.zeros(16, np.int64)
        self.atomics: list[Access] = []
        self.reads: list[Access] = []

    def positions(self, buffer: Buffer, offset: np.ndarray) -> np.ndarray:
        """Turns element offsets of a buffer into positions of the map, several when items are larger."""
        scale = buffer.item // self.unit
        shift = (buffer.address - self.address) // self.unit
        where = offset if scale == 1 and shift == 0 else offset * scale + shift
        if scale > 1:
            where = (where[..., None] + np.arange(scale)).reshape(*where.shape[:-1], -1)
        return where

    def write(self, access: Access, offset: Any, stored: Any, view: Any) -> None:
        """Notes a store, about to happen, of values to offsets; `view` is the memory as it is before."""
        if self.map is None:
            self.map = self.run.maps.take(self.units)
        writers = self.map.array
        scale = buffer_scale(access.buffer, self.unit)
        where = self.positions(access.buffer, offset)
        size = access.count = where.size
        first = access.first_token = self.tokens.reserve(size)
        tokens = np.arange(first, first + size, dtype=np.int32)
        # the first store of a launch to a tensor finds only stale tokens
        previous = writers.take(where) if self.writes else None
        writers[where] = tokens
        lost = writers.take(where) != tokens
        access.offset, access.is_flat = offset, True
        if len(self.writes) == len(self.firsts):
            self.firsts = np.concatenate([self.firsts, np.zeros_like(self.firsts)])
        self.firsts[len(self.writes)] = first
        self.writes.append(access)
        if count(lost):
            self._duplicates(access, where, lost, stored, scale)
        if previous is not None:
            again = previous >= self.tokens.base
            if count(again):
                before = view.take(offset)
                self._rewrites(access, np.flatnonzero(again), previous, stored, before, scale)
        if not self.run.has_atomics:
            access.offset = None

    def _duplicates(self, access: Access, where: Any, lost: Any, stored: Any, scale: int) -> None:
        losers = np.flatnonzero(lost)
        winners = self.map.array[where[losers]] - access.first_token if self.map is not None else losers
        duplicate_lanes(self.run, access, losers // scale, winners // scale, stored)

    def _rewrites(self, access: Access, lanes: Any, previous: Any, stored: Any, before: Any, scale: int) -> None:
        rewritten(self.run, self, access, lanes // scale, previous[lanes], stored, before)

    def owners(self, tokens: np.ndarray) -> np.ndarray:
        """Returns for each token the number of the store that reserved it."""
        return np.searchsorted(self.firsts[: len(self.writes)], tokens, side="right") - 1

    def read(self, access: Access) -> None:
        """Notes a load; other programs' writes are judged at the end, the program's own ones now."""
        self.reads.append(access)
        if self.map is not None and len(self.writes) > self.settled:
            self._judge(access, self.map.array, reads_of_own_writes)

    def finish(self) -> None:
        """Judges logged accesses against the writes and atomics of the launch, and gives the map back."""
        if self.map is not None:
            for access in self.reads:
                self._judge(access, self.map.array, read_conflicts)
            self.run.maps.give(self.map)
            self.map = None
        if self.atomics:
            judge_atomics(self)

    def _judge(self, access: Access, found: np.ndarray, report: Callable[..., None]) -> None:
        scale = buffer_scale(access.buffer, self.unit)
        if not access.is_flat and scale == 1:
            # first the fast look, on unjoined shapes
            hit = found.take(self.positions(access.buffer, access.offset), mode="clip") >= self.tokens.base
            if access.allowed is not None:
                hit = hit & access.allowed
            if not count(hit):
                return
        access.flatten()
        tokens = found.take(self.positions(access.buffer, access.offset))
        places = np.flatnonzero(tokens >= self.tokens.base)
        if len(places):
            report(self.run, self, access, places // scale, tokens[places])


def buffer_scale(buffer: Buffer, unit: int) -> int:
    """Returns how many map positions one item of the buffer takes."""
    return buffer.item // unit
