"""From lanes that went wrong to hazards: the slow, exact side, only entered once something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from .elements import as_bits
from .hazard import source_line
from .program import Operation
from .run import UNDEFINED, Frame, Run, places

if TYPE_CHECKING:
    from .conflicts import Access, Extent
    from .memory import Buffer


def outside(frame: Frame, operation: Operation, buffer: Buffer, offset: Any, bad: Any, full: Any, verb: str) -> None:
    """Reports an access outside of the elements of its tensor."""
    flat = np.flatnonzero(np.broadcast_to(bad, full))
    first = int(np.broadcast_to(offset, full).ravel()[flat[0]])
    programs, lanes = places(frame, full, flat)
    frame.run.report(
        f"out-of-bounds {verb}",
        operation,
        buffer=buffer,
        offset=first,
        programs=programs,
        lanes=lanes,
        count=len(flat),
        note=_layout_text(buffer),
    )


def _layout_text(buffer: Buffer) -> str:
    shape, strides = tuple(buffer.tensor.shape), tuple(buffer.tensor.stride())
    return f"{buffer.name} has shape {shape} and strides {strides}"


def tainted(frame: Frame, operation: Operation, what: str, codes: Any, bad: Any, full: Any) -> None:
    """Reports undefined or wrapped values that reach `what` (address, value, mask, branch) of a lane."""
    run = frame.run
    wide_codes = np.broadcast_to(codes, full).ravel()
    flat = np.flatnonzero(np.broadcast_to(bad, full))
    found = wide_codes[flat]
    for code in np.unique(found):
        origin = run.origin(int(code))
        mine = flat[found == code]
        programs, lanes = places(frame, full, mine)
        place = operation.location
        run.report(
            origin.kind,
            origin.operation,
            programs=programs,
            lanes=lanes,
            count=len(mine),
            operands=origin.operands,
            note=f"reaches the {what} at line {place.line}: {source_line(place)}",
        )


def is_undefined(codes: Any) -> Any:
    """Says which taint codes make a value undefined."""
    return codes >= UNDEFINED


def _program_and_lane(run: Run, access: Access, positions: Any) -> tuple[list, list]:
    frame: Any = SimpleNamespace(run=run, start=access.start)
    return places(frame, access.full, access.lanes(positions))


def duplicate_lanes(run: Run, access: Access, losers: Any, winners: Any, stored: Any) -> None:
    """Reports two lanes of one store at one address, of one program or of several."""
    owner = access.programs()
    same_program = owner[losers] == owner[winners]
    for is_same in (True, False):
        chosen = np.flatnonzero(same_program == is_same)
        if not len(chosen):
            continue
        lose, win = losers[chosen], winners[chosen]
        is_equal = bool((as_bits(stored[lose]) == as_bits(stored[win])).all())
        programs, lanes = _program_and_lane(run, access, np.stack([lose[:1], win[:1]]).ravel())
        run.report(
            "duplicate lanes" if is_same else "write/write conflict",
            access.operation,
            buffer=access.buffer,
            offset=int(access.offset[lose[0]]),
            programs=programs,
            lanes=lanes,
            count=len(chosen),
            note=_same(is_equal),
        )


def meeting(
    run: Run, kind: str, access: Access, lanes: Any, other: Access, positions: Any, verb: str, extra: str = ""
) -> None:
    """Reports lanes of one access that meet lanes of another; both count among the lanes that took part."""
    one, one_lane = _program_and_lane(run, access, lanes[:1])
    two, two_lane = _program_and_lane(run, other, positions[:1])
    place = other.operation.location
    run.report(
        kind,
        access.operation,
        buffer=access.buffer,
        offset=int(access.offset[lanes[0]]) if access.offset is not None else None,
        programs=one + two,
        lanes=one_lane + two_lane,
        count=len(lanes),
        note=f"{extra}the {verb} is at line {place.line}: {source_line(place)}",
    )


def _meetings(extent: Extent, access: Access, lanes: Any, tokens: Any) -> Iterator[tuple[Access, Any, Any, Any]]:
    """Yields each write met, the lanes that met it, its own positions, and which lanes are of one program with it."""
    number = extent.owners(tokens)
    owner = access.programs()[lanes]
    for which in np.unique(number):
        write = extent.writes[int(which)]
        mine = np.flatnonzero(number == which)
        positions = (tokens[mine] - write.first_token) // (write.buffer.item // extent.unit)
        yield write, lanes[mine], positions, owner[mine] == write.programs()[positions]


def unordered(one: Access, lanes: Any, other: Access, positions: Any) -> Any:
    """Says for which lanes no barrier of the program lies between two of its accesses."""
    return np.broadcast_to(one.epochs(lanes) == other.epochs(positions), lanes.shape)


def rewritten(run: Run, extent: Extent, access: Access, lanes: Any, tokens: Any, stored: Any, before: Any) -> None:
    """Reports stores to locations that an earlier store of this launch had written."""
    for earlier, met, positions, is_same in _meetings(extent, access, lanes, tokens):
        twice = is_same & unordered(access, met, earlier, positions)
        for kind, which in (("stored twice", twice), ("write/write conflict", ~is_same)):
            chosen = np.flatnonzero(which)
            if len(chosen):
                lane = met[chosen]
                same = _same(bool((as_bits(stored[lane]) == as_bits(before[lane])).all()))
                meeting(run, kind, access, lane, earlier, positions[chosen], "other store", f"{same}; ")


def reads_of_own_writes(run: Run, extent: Extent, access: Access, lanes: Any, tokens: Any) -> None:
    """Reports reads of locations that the same program has written, no barrier between."""
    for write, met, positions, is_same in _meetings(extent, access, lanes, tokens):
        chosen = np.flatnonzero(is_same & unordered(access, met, write, positions))
        if len(chosen):
            meeting(run, "read after write", access, met[chosen], write, positions[chosen], "store")


def read_conflicts(run: Run, extent: Extent, access: Access, lanes: Any, tokens: Any) -> None:
    """Reports reads of locations that another program of this launch writes."""
    for write, met, positions, is_same in _meetings(extent, access, lanes, tokens):
        chosen = np.flatnonzero(~is_same)
        if len(chosen):
            meeting(run, "read/write conflict", access, met[chosen], write, positions[chosen], "store")


def _same(is_equal: bool) -> str:
    return "the same value" if is_equal else "different values"


def read_only(frame: Frame, op: Operation, buffer: Buffer, where: Any, wide: Any, full: Any) -> None:
    """Reports lanes that write to a tensor declared read-only."""
    _lanes(frame, op, buffer, "write to a read-only tensor", np.arange(len(where)), where, wide, full)


def unwritten_atomic(frame: Frame, op: Operation, buffer: Buffer, where: Any, fresh: Any, wide: Any, full: Any) -> None:
    """Reports atomics on memory that nothing has written."""
    _lanes(frame, op, buffer, "memory never written", np.flatnonzero(fresh), where, wide, full)


def _lanes(
    frame: Frame, op: Operation, buffer: Buffer, kind: str, chosen: Any, where: Any, wide: Any, full: Any
) -> None:
    flat = chosen if wide is None else np.flatnonzero(wide)[chosen]
    programs, lanes = places(frame, full, flat)
    frame.run.report(
        kind,
        op,
        buffer=buffer,
        offset=int(where[chosen[0]]),
        programs=programs,
        lanes=lanes,
        count=len(chosen),
    )
