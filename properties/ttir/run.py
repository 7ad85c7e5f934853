"""One launch while it runs: buffers, hazards so far, where taint came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .hazard import Hazard, source_line
from .memory import Buffer
from .program import Operation
from .scratch import MAPS, TOKENS

if TYPE_CHECKING:
    from .accesses import Accesses
    from .conflicts import Extent

# taint codes from here on make a value undefined; smaller ones only say that an index wrapped
UNDEFINED = 0x4000
# added to the code of a wrapped value once its low bits are wrong too, as after a division
LOW_BITS_LOST = 0x2000
FIRST_PLACES = 4


@dataclass
class _Seen:
    """A hazard while it is still being counted."""

    operation: Operation
    kind: str
    buffer: Buffer | None
    offset: int | None
    programs: tuple[tuple[int, ...], ...]
    lanes: tuple[tuple[int, ...], ...]
    count: int
    operands: tuple[tuple[str, object], ...]
    note: str


@dataclass
class Origin:
    """Where a taint code came from."""

    kind: str
    operation: Operation
    operands: tuple[tuple[str, object], ...] = ()


class Run:
    """The state of one launch that every step shares."""

    def __init__(self, kernel: str, grid: tuple[int, int, int], loop_limit: int, has_checks: bool) -> None:
        self.kernel = kernel
        self.grid = grid
        # the program axes that are kept as array axes: those longer than one, or the first
        self.axes = tuple(axis for axis in range(3) if grid[axis] > 1) or (0,)
        self.loop_limit = loop_limit
        self.has_checks = has_checks
        self.sequence = 0
        # barriers passed so far by the programs of this chunk: one number, or one for each where they differ
        self.epoch: Any = 0
        self.maps = MAPS
        self.tokens = TOKENS
        self.extents: list[Extent] = []
        # pointers name a buffer by its number here; the arguments come first
        self.buffers: list[Buffer] = []
        self.argument_count = 0
        # only then are the offsets of plain stores kept until the launch ends
        self.has_atomics = False
        # a loop had to be stopped
        self.is_stuck = False
        self.origins: dict[int, Origin] = {}
        self.codes: dict[tuple[str, int], int] = {}
        self.seen: dict[tuple, _Seen] = {}
        self.accesses: Accesses | None = None

    def begin_chunk(self) -> None:
        """Starts the next programs of the grid; what came before was others' doing."""
        self.epoch = 0
        for extent in self.extents:
            extent.settled = len(extent.writes)

    def pass_barrier(self, active: np.ndarray | None) -> None:
        """Counts a barrier for the programs that reach it."""
        self.epoch = self.epoch + (1 if active is None or active.all() else active.astype(np.int64))

    def program(self, coordinates: Any) -> tuple[int, int, int]:
        """Turns coordinates on the kept axes into a program id of three numbers."""
        full = [0, 0, 0]
        for axis, number in zip(self.axes, coordinates, strict=True):
            full[axis] = int(number)
        return (full[0], full[1], full[2])

    def code(self, kind: str, operation: Operation, is_undefined: bool, operands: Any = ()) -> int:
        """Returns the taint code of an origin, the same one each time the operation runs."""
        key = (kind, id(operation))
        found = self.codes.get(key)
        if found is None:
            found = len(self.codes) + 1 + (UNDEFINED if is_undefined else 0)
            self.codes[key] = found
            self.origins[found] = Origin(kind, operation, tuple(operands))
        return found

    def origin(self, code: int) -> Origin:
        """Returns where a taint code came from."""
        return self.origins[code if code >= UNDEFINED else code & ~LOW_BITS_LOST]

    def report(
        self,
        kind: str,
        operation: Operation,
        *,
        buffer: Buffer | None = None,
        offset: int | None = None,
        programs: Any = (),
        lanes: Any = (),
        count: int = 1,
        operands: Any = (),
        note: str = "",
    ) -> None:
        """Counts a hazard; equal kinds at one operation and tensor become one."""
        key = (kind, id(operation), buffer.name if buffer else None, note)
        found = self.seen.get(key)
        if found is not None:
            found.count += count
            return
        self.seen[key] = _Seen(
            operation, kind, buffer, offset, tuple(programs), tuple(lanes), count, tuple(operands), note
        )

    def hazards(self) -> list[Hazard]:
        """Returns what was seen, as data that outlives the launch."""
        result = []
        for seen in self.seen.values():
            location = seen.operation.location
            index = None
            if seen.buffer is not None and seen.offset is not None:
                index = seen.buffer.index(seen.offset)
            result.append(
                Hazard(
                    seen.kind,
                    self.kernel,
                    location.file,
                    location.line,
                    source_line(location),
                    seen.buffer.name if seen.buffer else None,
                    index,
                    seen.programs,
                    seen.lanes,
                    int(seen.count),
                    seen.operands,
                    seen.note,
                )
            )
        return result


@dataclass(slots=True)
class Frame:
    """One activation of a function for one chunk of programs; lists are indexed by slot."""

    run: Run
    # first program and number of programs of this chunk on each kept axis
    start: tuple[int, ...]
    sizes: tuple[int, ...]
    data: list[Any]
    taint: list[Any]
    ranges: list[Any]
    # which programs take part, None for all
    active: np.ndarray | None = None
    # what a body of several blocks returned; a body of one block leaves None
    returned: list[Any] | None = None


def places(frame: Frame, full: tuple[int, ...], flat: np.ndarray) -> tuple[list, list]:
    """Returns programs and lanes of the first few flat positions of a full tile."""
    axes = len(frame.start)
    programs, lanes = [], []
    for position in flat[:FIRST_PLACES]:
        coordinates = np.unravel_index(int(position), full)
        programs.append(frame.run.program(c + s for c, s in zip(coordinates[:axes], frame.start, strict=True)))
        lanes.append(tuple(int(number) for number in coordinates[axes:]))
    return programs, lanes
