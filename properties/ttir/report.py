"""From lanes that went wrong to hazards: the slow, exact side, only entered once something is wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

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
        origin = run.origins[int(code)]
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
        is_equal = bool((_bits(stored[lose]) == _bits(stored[win])).all())
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


def rewritten(
    run: Run,
    extent: Extent,
    access: Access,
    lanes: Any,
    number: Any,
    tokens: Any,
    stored: Any,
    before: Any,
    scale: int,
) -> None:
    """Reports stores to locations that an earlier store of this launch had written."""
    owner = access.programs()[lanes]
    for which in np.unique(number):
        earlier = extent.writes[int(which)]
        mine = np.flatnonzero(number == which)
        positions = (tokens[mine] - earlier.first_token) // scale
        previous_owner = earlier.programs()[positions]
        for is_same in (True, False):
            chosen = np.flatnonzero((owner[mine] == previous_owner) == is_same)
            if is_same and earlier.epoch != access.epoch:
                continue  # a barrier orders the two
            if not len(chosen):
                continue
            lane = lanes[mine[chosen]]
            is_equal = bool((_bits(stored[lane]) == _bits(before[lane])).all())
            one, one_lane = _program_and_lane(run, access, lane[:1])
            other, other_lane = _program_and_lane(run, earlier, positions[chosen[:1]])
            place = earlier.operation.location
            run.report(
                "stored twice" if is_same else "write/write conflict",
                access.operation,
                buffer=access.buffer,
                offset=int(access.offset[lane[0]]) if access.offset is not None else None,
                programs=one + other,
                lanes=one_lane + other_lane,
                count=len(chosen),
                note=f"{_same(is_equal)}; the other store is at line {place.line}: {source_line(place)}",
            )


def read_conflicts(run: Run, extent: Extent, access: Access, lanes: Any, writer: Any) -> None:
    """Reports reads of locations that this launch writes: by another program, or by this one before."""
    number = extent.owners(writer, extent.writes)
    owner = access.programs()[lanes]
    for which in np.unique(number):
        write = extent.writes[int(which)]
        mine = np.flatnonzero(number == which)
        scale = write.buffer.item // extent.unit
        positions = (writer[mine] - write.first_token) // scale
        other_owner = write.programs()[positions]
        is_same = owner[mine] == other_owner
        after = is_same & (write.sequence < access.sequence) & (write.epoch == access.epoch)
        for kind, chosen in (
            ("read/write conflict", np.flatnonzero(~is_same)),
            ("read after write", np.flatnonzero(after)),
        ):
            if not len(chosen):
                continue
            lane = lanes[mine[chosen]]
            one, one_lane = _program_and_lane(run, access, lane[:1])
            other, other_lane = _program_and_lane(run, write, positions[chosen[:1]])
            place = write.operation.location
            run.report(
                kind,
                access.operation,
                buffer=access.buffer,
                offset=int(access.offset[lane[0]]) if access.offset is not None else None,
                programs=one + other,
                lanes=one_lane + other_lane,
                count=len(chosen),
                note=f"the store is at line {place.line}: {source_line(place)}",
            )


def _same(is_equal: bool) -> str:
    return "the same value" if is_equal else "different values"


def _bits(values: Any) -> Any:
    return values.view(f"u{values.dtype.itemsize}") if values.dtype.kind == "f" else values


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


def atomic_conflicts(run: Run, extent: Extent, access: Access, lanes: Any, atomic: Any) -> None:
    """Reports plain accesses of locations that another program changes atomically."""
    number = extent.owners(atomic, extent.atomics)
    owner = access.programs()[lanes]
    for which in np.unique(number):
        other = extent.atomics[int(which)]
        mine = np.flatnonzero(number == which)
        positions = (atomic[mine] - other.first_token) // (other.buffer.item // extent.unit)
        chosen = np.flatnonzero(owner[mine] != other.programs()[positions])
        if not len(chosen):
            continue
        lane = lanes[mine[chosen]]
        one, one_lane = _program_and_lane(run, access, lane[:1])
        two, two_lane = _program_and_lane(run, other, positions[chosen[:1]])
        place = other.operation.location
        run.report(
            "atomic conflict",
            access.operation,
            buffer=access.buffer,
            offset=int(access.offset[lane[0]]) if access.offset is not None else None,
            programs=one + two,
            lanes=one_lane + two_lane,
            count=len(chosen),
            note=f"the atomic is at line {place.line}: {source_line(place)}",
        )
