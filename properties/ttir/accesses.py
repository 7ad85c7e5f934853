"""A log of every plain load and store of some launches: who touched which address, from which line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .hazard import source_line
from .memory import Buffer
from .program import Operation


@dataclass(frozen=True)
class Lane:
    """One lane of one logged access: its launch, the program's place in the grid, its place in the tile."""

    launch: int
    program: tuple[int, ...]
    lane: tuple[int, ...]


@dataclass(frozen=True)
class Logged:
    """One load or store of all programs of a chunk; `allowed` are the lanes that took part, None for all."""

    is_store: bool
    launch: int
    kernel: str
    operation: Operation
    buffer: Buffer
    offset: Any
    allowed: Any
    full: tuple[int, ...]
    start: tuple[int, ...]

    def lanes(self, address: int, *, is_masked: bool = False) -> Iterator[Lane]:
        """The lanes that touched an address in bytes, or those that would have and were masked off."""
        where, rest = divmod(address - self.buffer.address, self.buffer.item)
        if rest:
            return
        hit = self.offset == where
        if self.allowed is not None:
            hit = hit & (~self.allowed if is_masked else self.allowed)
        elif is_masked:
            return
        axes = len(self.start)
        for flat in np.flatnonzero(np.broadcast_to(hit, self.full)):
            place = [int(number) for number in np.unravel_index(int(flat), self.full)]
            program = tuple(one + first for one, first in zip(place[:axes], self.start, strict=True))
            yield Lane(self.launch, program, tuple(place[axes:]))

    @property
    def place(self) -> str:
        """File, line, kernel and text of the access."""
        location = self.operation.location
        return f"{location.file}:{location.line} in {self.kernel}: {source_line(location)}"


class Accesses:
    """What a machine logs when it is made with one; tiles are kept as they are, so it is for a few small launches."""

    def __init__(self) -> None:
        self.entries: list[Logged] = []
        self.launches = 0

    def note(self, is_store: bool, frame: Any, operation: Operation, access: tuple[Buffer, Any, Any, Any]) -> None:
        """Logs an access: its buffer, offsets, lanes that take part (None for all) and the full tile's sizes."""
        buffer, offset, allowed, full = access
        self.entries.append(
            Logged(is_store, self.launches, frame.run.kernel, operation, buffer, offset, allowed, full, frame.start)
        )

    def stores(self, address: int) -> list[tuple[Logged, Lane]]:
        """Who stored to an address, in order."""
        return [(one, lane) for one in self.entries if one.is_store for lane in one.lanes(address)]

    def loads(self, address: int, by: Lane, *, is_masked: bool = False, is_own: bool = False) -> list[Logged]:
        """Loads of an address by a program: those by the same lane where there are any, or those by it alone.

        Else those by a lane of fewer axes that the same lane is spread from, as that of its row, then all.
        """
        found = [
            (one, lane)
            for one in self.entries
            if not one.is_store and one.launch == by.launch
            for lane in one.lanes(address, is_masked=is_masked)
            if lane.program == by.program
        ]
        same = [one for one, lane in found if lane.lane == by.lane]
        spread = [one for one, lane in found if _is_part(lane.lane, by.lane)]
        return same if same or is_own else spread or [one for one, _ in found]

    def masked_stores(self, address: int) -> list[tuple[Logged, Lane]]:
        """Stores that would have written an address, had their lanes not been masked off."""
        return [(one, lane) for one in self.entries if one.is_store for lane in one.lanes(address, is_masked=True)]

    def stores_by(self, by: Lane, tensor: Any) -> list[tuple[Logged, int]]:
        """Stores of a lane to a tensor, with their offsets in elements from its first one."""
        address = tensor.data_ptr()
        return [
            (one, int(np.broadcast_to(one.offset, one.full)[place]))
            for one in self.entries
            if one.is_store and one.launch == by.launch and one.buffer.address == address
            if (place := _place(one, by)) is not None
            if one.allowed is None or np.broadcast_to(one.allowed, one.full)[place]
        ]

    def missed_loads(self, tensor: Any, by: Lane) -> list[tuple[Logged, bool]]:
        """Loads from a tensor by which a lane got nothing, and whether its address is outside: first those that are."""
        address = tensor.data_ptr()
        found = [
            (one, not 0 <= int(np.broadcast_to(one.offset, one.full)[place]) < one.buffer.extent)
            for one in self.entries
            if not one.is_store and one.launch == by.launch and one.buffer.address == address
            if (place := _place(one, by)) is not None
            if one.allowed is not None and not np.broadcast_to(one.allowed, one.full)[place]
        ]
        return sorted(found, key=lambda each: not each[1])


def _is_part(lane: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether a lane's place is the other one's with axes left out."""
    axes = iter(whole)
    return all(one in axes for one in lane)


def _place(one: Logged, by: Lane) -> tuple[int, ...] | None:
    """Where a lane is in the tile of an access; None where it is not."""
    place = (*(number - first for number, first in zip(by.program, one.start, strict=True)), *by.lane)
    inside = len(place) == len(one.full) and all(0 <= n < size for n, size in zip(place, one.full, strict=True))
    return place if inside else None
