"""tt.addptr, tt.load, tt.store: every address checked against the tensor it was derived from."""

from __future__ import annotations

from typing import Any

import numpy as np

from .binding import Binding, stored_dtype
from .cells import join
from .conflicts import Access
from .counting import count
from .hazard import Unsupported
from .integers import first_operands
from .memory import Buffer
from .mixed import pieces
from .pointers import Pointer
from .program import Operation
from .ranges import known
from .registry import Step, operation
from .report import outside, read_only, tainted
from .run import UNDEFINED, Frame

LOWEST, HIGHEST = -(2**63), 2**63 - 1
# the buffer that stands for addresses which belong to no argument
NOWHERE = "<nowhere>"
UINT64 = np.dtype(np.uint64)


def nowhere(frame: Frame, op: Operation) -> Unsupported:
    """Returns the one line about an address that belongs to no argument of the launch."""
    where = f"{op.location.file}:{op.location.line}"
    return Unsupported(
        f"{op.name} of an address outside of every argument, in kernel {frame.run.kernel} at {where}, is not supported"
    )


@operation("tt.addptr", note="offsets stay sums of unbroadcast parts until memory is touched")
def bind_addptr(op: Operation, binding: Binding) -> Step:
    a, b = op.operands
    r = op.results[0]
    has_checks = binding.has_checks

    def step(frame: Frame) -> None:
        data = frame.data
        if not has_checks:
            data[r] = data[a].shifted(data[b], 0, 0)
            return
        taint = frame.taint
        low, high = frame.ranges[b] or known(frame, b)
        pointer = data[r] = data[a].shifted(data[b], low, high)
        mark, other = taint[a], taint[b]
        mark = taint[r] = mark if other is None else join(mark, other)
        if pointer.low < LOWEST or pointer.high > HIGHEST:
            bad = pointer.settle(data[a].offset(), data[b])
            if count(bad):
                code = frame.run.code("wrapped index", op, False, first_operands(bad, data[a].offset(), data[b]))
                taint[r] = join(mark, np.where(bad, np.int16(code), np.int16(0)))

    return step


def participating(frame: Frame, mask: Any, rank: int) -> Any:
    """Returns the mask restricted to active programs; None means every lane."""
    active = frame.active
    if active is None:
        return mask
    wide = active.reshape(active.shape + (1,) * rank)
    return wide if mask is None else mask & wide


def full_tile(frame: Frame, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the sizes of the whole tile of a chunk: its programs, then the lanes of a type."""
    return frame.sizes + shape


def judge_taint(frame: Frame, op: Operation, what: str, mark: Any, allowed: Any, full: Any, any_code: bool) -> Any:
    """Reports tainted lanes that take part, and returns the lanes that are left."""
    bad = mark != 0 if any_code else mark >= UNDEFINED
    if allowed is not None:
        bad = bad & allowed
    if not count(bad):
        return allowed
    tainted(frame, op, what, mark, bad, full)
    return ~bad if allowed is None else allowed & ~bad


def inside(frame: Frame, op: Operation, pointer: Pointer, offset: Any, allowed: Any, shape: Any, verb: str) -> Any:
    """Reports lanes outside of the tensor, and returns the lanes that are left."""
    buffer = frame.run.buffers[pointer.base]
    if buffer.is_gapless:
        if pointer.low >= 0 and pointer.high < buffer.extent:
            return allowed
        ok = offset.view(UINT64) < buffer.limit
    else:
        ok = buffer.contains(offset)
    if allowed is None:
        if count(ok) == ok.size:
            return None
        bad = ~ok
    else:
        bad = np.greater(allowed, ok)
        if not count(bad):
            return allowed
    if buffer.name == NOWHERE:
        raise nowhere(frame, op)
    outside(frame, op, buffer, offset, bad, full_tile(frame, shape), verb)
    return ok if allowed is None else allowed & ok


def checked_lanes(
    frame: Frame, op: Operation, p: int, m: int | None, shape: Any, verb: str, pointer: Pointer, chosen: Any
) -> tuple[Any, Any]:
    """Returns the joined offset and the lanes that may touch memory, after every check of the address.

    `pointer` is the part of slot `p` that lies in one tensor, `chosen` the lanes of it, None for all.
    """
    offset = pointer.joined
    if offset is None:
        offset = pointer.offset()
    allowed = None if m is None else frame.data[m]
    if frame.active is not None:
        allowed = participating(frame, allowed, len(shape))
    if chosen is not None:
        allowed = chosen if allowed is None else allowed & chosen
    if m is not None and frame.taint[m] is not None:
        active = participating(frame, None, len(shape))
        full = full_tile(frame, shape)
        left = judge_taint(frame, op, "mask", frame.taint[m], active, full, False)
        allowed = left if allowed is None else allowed if left is None else allowed & left
    if frame.taint[p] is not None:
        allowed = judge_taint(frame, op, "address", frame.taint[p], allowed, full_tile(frame, shape), True)
    return offset, inside(frame, op, pointer, offset, allowed, shape, verb)


def plain_lanes(frame: Frame, p: int, m: int | None, shape: Any, pointer: Pointer, chosen: Any) -> tuple[Any, Any]:
    """Does the same without checks; lanes outside of the tensor are masked off, to spare the process."""
    offset = pointer.offset()
    allowed = participating(frame, None if m is None else frame.data[m], len(shape))
    if chosen is not None:
        allowed = chosen if allowed is None else allowed & chosen
    ok = offset.view(np.uint64) < frame.run.buffers[pointer.base].limit
    return offset, ok if allowed is None else allowed & ok


@operation("tt.load", note="a masked-off lane without `other` is undefined, and so is memory never written")
def bind_load(op: Operation, binding: Binding) -> Step:
    p = op.operands[0]
    m = op.operands[1] if len(op.operands) > 1 else None
    o = op.operands[2] if len(op.operands) > 2 else None
    r = op.results[0]
    type_ = binding.type(r)
    shape, element = type_.shape, type_.element
    # a tile of one lane, because NumPy takes longer over a scalar
    zero = np.zeros((1,) * (binding.axes + type_.rank), stored_dtype(type_))
    clean, masked_off = np.zeros_like(zero, np.int16), np.zeros_like(zero, np.int16)
    has_checks = binding.has_checks

    def fetch(frame: Frame, pointer: Pointer, chosen: Any) -> tuple[Any, Any]:
        data, buffer = frame.data, frame.run.buffers[pointer.base]
        if has_checks:
            offset, allowed = checked_lanes(frame, op, p, m, shape, "read", pointer, chosen)
        else:
            offset, allowed = plain_lanes(frame, p, m, shape, pointer, chosen)
        if frame.run.accesses is not None:
            frame.run.accesses.note(False, frame, op, (buffer, offset, allowed, full_tile(frame, shape)))
        view = buffer.views.get(element)
        if view is None:
            view = buffer.view(element)
        values = view.take(offset, mode="clip") if buffer.extent else np.zeros(offset.shape, zero.dtype)
        mark = None
        if allowed is not None and count(allowed) < allowed.size:
            values = np.where(allowed, values, zero if o is None else data[o])
            if has_checks:
                if m is not None and o is None:
                    masked_off[...] = frame.run.code("masked-off lane without other", op, True)
                    mark = np.where(data[m], clean, masked_off)
                elif o is not None and frame.taint[o] is not None:
                    mark = np.where(allowed, np.int16(0), frame.taint[o])
        if has_checks:
            if buffer.shadow is not None:
                mark = join(mark, _unwritten(frame, op, buffer, offset, allowed))
            if buffer.log is not None:
                run = frame.run
                run.sequence += 1
                full = full_tile(frame, shape)
                access = Access(op, buffer, run.sequence, run.epoch, full, frame.start, allowed, offset=offset)
                buffer.log.read(access)
        return values, mark

    def step(frame: Frame) -> None:
        pointer: Pointer = frame.data[p]
        if type(pointer.base) is int:
            values, mark = fetch(frame, pointer, None)
        else:
            values, mark = np.zeros(pointer.offset().shape, zero.dtype), None
            for piece, chosen in pieces(pointer):
                some, some_mark = fetch(frame, piece, chosen)
                values = np.where(chosen, some, values)
                if some_mark is not None:
                    mark = join(mark, np.where(chosen, some_mark, np.int16(0)))
        frame.data[r] = values
        frame.taint[r] = mark
        frame.ranges[r] = None  # whoever needs the range asks for it

    return step


def span(values: Any) -> tuple[int, int]:
    """Returns the smallest and the largest of an integer array."""
    return int(np.minimum.reduce(values, axis=None)), int(np.maximum.reduce(values, axis=None))


def _unwritten(frame: Frame, op: Operation, buffer: Buffer, offset: Any, allowed: Any) -> Any:
    """Returns taint for lanes that read memory which nothing has written."""
    assert buffer.shadow is not None  # the caller has looked
    fresh = ~buffer.shadow.take(offset, mode="clip")
    if allowed is not None:
        fresh = fresh & allowed
    if not fresh.any():
        return None
    code = frame.run.code("memory never written", op, True)
    return np.where(fresh, np.int16(code), np.int16(0))


@operation("tt.store", note="lanes, programs and earlier accesses that meet at one address are hazards")
def bind_store(op: Operation, binding: Binding) -> Step:
    p, v = op.operands[:2]
    m = op.operands[2] if len(op.operands) > 2 else None
    type_ = binding.type(v)

    def step(frame: Frame) -> None:
        for pointer, chosen in pieces(frame.data[p]):
            put(frame, op, (p, v, m), type_.shape, type_.element, pointer, chosen)

    return step


def put(frame: Frame, op: Operation, slots: Any, shape: Any, element: str, pointer: Pointer, chosen: Any) -> None:
    """Stores the lanes of a value that point into one tensor; `slots` are pointer, value, mask."""
    p, v, m = slots
    full = full_tile(frame, shape)
    if frame.run.has_checks:
        offset, allowed = checked_lanes(frame, op, p, m, shape, "write", pointer, chosen)
        mark = frame.taint[v]
        if mark is not None:
            # reported, but stored still: a hole would only be reported again as never written
            judge_taint(frame, op, "stored value", mark, allowed, full, False)
    else:
        offset, allowed = plain_lanes(frame, p, m, shape, pointer, chosen)
    if frame.run.accesses is not None:
        frame.run.accesses.note(True, frame, op, (frame.run.buffers[pointer.base], offset, allowed, full))
    where, values, wide = compress(offset, frame.data[v], allowed, full)
    if len(where):
        write_lanes(frame, op, frame.run.buffers[pointer.base], element, where, values, wide, full)


def compress(offset: Any, values: Any, allowed: Any, full: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Returns offsets and values of the lanes that take part, flat, and the full mask."""
    if offset.shape != full:
        offset = np.broadcast_to(offset, full)
    if values.shape != full:
        values = np.broadcast_to(values, full)
    if allowed is None or count(allowed) == allowed.size:
        return offset.ravel(), values.ravel(), None
    if allowed.shape != full:
        allowed = np.broadcast_to(allowed, full)
    return offset[allowed], values[allowed], allowed


def write_lanes(
    frame: Frame, op: Operation, buffer: Buffer, element: str, where: Any, values: Any, wide: Any, full: Any
) -> None:
    """Writes lanes that passed every check of their own, and notes who wrote."""
    run = frame.run
    view = buffer.view(element)
    if run.has_checks:
        run.sequence += 1
        if buffer.is_read_only:
            read_only(frame, op, buffer, where, wide, full)
        if buffer.log is not None:
            access = Access(op, buffer, run.sequence, run.epoch, full, frame.start, wide)
            buffer.log.write(access, where, values, view)
    view[where] = values
    if buffer.shadow is not None:
        buffer.shadow[where] = True
