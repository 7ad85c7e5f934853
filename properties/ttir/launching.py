"""Grids: what callers may pass, what hardware takes, and chunks that fit the cache."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .hazard import Hazard, source_line
from .program import Location

# the recordings under way, the innermost last
TAPES: list[Any] = []


def is_capturing() -> bool:
    """Says whether a region is being captured: the host's answer to torch.cuda.is_current_stream_capturing."""
    return any(tape.is_capture for tape in TAPES)


# lanes of one chunk; chosen by measurement in benchmarks/engines.py so that a few tiles fit the L2 cache
CHUNK_LANES = 1 << 17
GRID_LIMITS = (2**31 - 1, 65535, 65535)


@dataclass(frozen=True)
class Launch:
    """One recorded launch: what was launched, over which grid, with which arguments."""

    kernel: str
    grid: tuple[int, int, int]
    scalars: dict[str, Any]
    tensors: dict[str, Any]
    function: Any = field(repr=False, default=None)
    bound: Any = field(repr=False, default=None)


def grid_of(grid: Any, arguments: dict[str, Any]) -> tuple[int, int, int]:
    """Returns the three grid sizes of a launch; a callable grid gets the bound arguments."""
    sizes = grid(arguments) if callable(grid) else grid
    numbers = [int(size) for size in sizes] if isinstance(sizes, (tuple, list)) else [int(sizes)]
    numbers += [1] * (3 - len(numbers))
    return numbers[0], numbers[1], numbers[2]


def grid_hazards(kernel: str, location: Location, grid: tuple[int, int, int]) -> list[Hazard]:
    """Returns hazards of the grid itself: nothing to run, or more than the hardware takes."""
    found: list[Hazard] = []
    if all(0 < size <= 65535 for size in grid):
        return found
    for axis, (size, limit) in enumerate(zip(grid, GRID_LIMITS, strict=True)):
        note = ""
        if size > limit:
            kind, note = "grid too large", f"axis {axis} has {size} programs, the hardware takes {limit}"
        elif size <= 0:
            kind, note = "empty grid", f"axis {axis} has {size} programs"
        if note:
            found.append(Hazard(kind, kernel, location.file, location.line, source_line(location), note=note))
    return found


def chunks(
    grid: tuple[int, int, int], axes: tuple[int, ...], lanes: int, is_serial: bool = False
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yields (first program, number of programs) on the kept axes, at most CHUNK_LANES lanes, or one program, each."""
    room = 1 if is_serial else max(1, CHUNK_LANES // lanes)
    steps = [1] * len(axes)
    for place in range(len(axes) - 1, -1, -1):
        steps[place] = min(grid[axes[place]], room)
        room = max(1, room // steps[place])
    pieces = [range(0, grid[axis], step) for axis, step in zip(axes, steps, strict=True)]
    for start in itertools.product(*pieces):
        sizes = tuple(min(step, grid[axis] - first) for axis, step, first in zip(axes, steps, start, strict=True))
        yield tuple(start), sizes
