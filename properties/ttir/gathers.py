"""Operations that rearrange, join or count lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .binding import Binding, full_range
from .cells import join, read, write
from .integers import first_operands, forgiven
from .program import Operation
from .registry import Step, operation
from .run import Frame
from .shapes import widened


def _marks(cells: list[Any]) -> list[Any] | None:
    """Returns a taint array for each value, or None if all are clean."""
    if all(mark is None for _, mark, _ in cells):
        return None
    return [np.zeros(data.shape, np.int16) if mark is None else mark for data, mark, _ in cells]


def _union(cells: list[Any]) -> Any:
    spans = [span for _, _, span in cells]
    if any(span is None for span in spans):
        return None
    return min(span[0] for span in spans), max(span[1] for span in spans)


def _together(frame: Frame, op: Operation, binding: Binding, put: Any) -> None:
    """Applies a function of two full tiles to data and taint alike."""
    types = [binding.type(slot) for slot in op.operands]
    cells = [read(frame, slot) for slot in op.operands]

    def wide(arrays: list[Any]) -> Any:
        full = [widened(array, type_, binding.axes) for array, type_ in zip(arrays, types, strict=True)]
        programs = np.broadcast_shapes(*(array.shape[: binding.axes] for array in full))
        return put([np.broadcast_to(array, programs + array.shape[binding.axes :]) for array in full])

    marks = _marks(cells)
    data = wide([cell[0] for cell in cells])
    write(frame, op.results[0], (data, None if marks is None else wide(marks), _union(cells)))


@operation("tt.join")
def bind_join(op: Operation, binding: Binding) -> Step:
    if binding.type(op.operands[0]).is_pointer:
        raise binding.unsupported(op, "of pointers")
    return lambda frame: _together(frame, op, binding, lambda arrays: np.stack(arrays, axis=-1))


@operation("tt.cat", note="keeps the order, also where the language lets it change")
def bind_cat(op: Operation, binding: Binding) -> Step:
    if binding.type(op.operands[0]).is_pointer:
        raise binding.unsupported(op, "of pointers")
    return lambda frame: _together(frame, op, binding, lambda arrays: np.concatenate(arrays, axis=binding.axes))


@operation("tt.split")
def bind_split(op: Operation, binding: Binding) -> Step:
    type_ = binding.type(op.operands[0])

    def step(frame: Frame) -> None:
        data, mark, span = read(frame, op.operands[0])
        full = widened(data, type_, binding.axes)
        marks = None if mark is None else widened(mark, type_, binding.axes)
        for number, slot in enumerate(op.results):
            write(frame, slot, (full[..., number], None if marks is None else marks[..., number], span))

    return step


@operation("tt.gather", note="an index outside of the axis makes the lane undefined")
def bind_gather(op: Operation, binding: Binding) -> Step:
    a, i = op.operands
    r = op.results[0]
    source, indices = binding.type(a), binding.type(i)
    axis = binding.axes + int(str(op.attributes["axis"]))
    size = source.shape[axis - binding.axes]

    def step(frame: Frame) -> None:
        data, mark, span = read(frame, a)
        index = widened(frame.data[i], indices, binding.axes).astype(np.int64)
        bad = (index < 0) | (index >= size)
        index = np.clip(index, 0, size - 1)

        def take(array: Any) -> Any:
            full = widened(array, source, binding.axes)
            programs = np.broadcast_shapes(full.shape[: binding.axes], index.shape[: binding.axes])
            return np.take_along_axis(
                np.broadcast_to(full, programs + source.shape),
                np.broadcast_to(index, programs + indices.shape),
                axis,
            )

        out = join(None if mark is None else take(mark), frame.taint[i])
        if binding.has_checks and bad.any():
            raw = frame.data[i]
            code = frame.run.code("gather index outside", op, True, first_operands(bad, raw, raw)[:1])
            out = join(out, np.where(bad, np.int16(code), np.int16(0)))
        write(frame, r, (take(data), out, span))

    return step


@operation("tt.histogram", note="values outside of the bins are not counted")
def bind_histogram(op: Operation, binding: Binding) -> Step:
    a, r = op.operands[0], op.results[0]
    m = op.operands[1] if len(op.operands) > 1 else None
    source, target = binding.type(a), binding.type(r)
    bins = target.shape[0]

    def step(frame: Frame) -> None:
        data, mark, _ = read(frame, a)
        full = widened(data, source, binding.axes)
        counted = (full >= 0) & (full < bins)
        undefined = None if mark is None else np.broadcast_to(mark, full.shape)
        if m is not None:
            counted = counted & frame.data[m]
            if undefined is not None:
                undefined = np.where(frame.data[m], undefined, np.int16(0))
            if frame.taint[m] is not None:
                undefined = np.broadcast_to(join(undefined, frame.taint[m]), full.shape)
        full, counted = np.broadcast_arrays(full, counted)
        programs = full.shape[: binding.axes]
        flat, used = full.reshape(-1, source.shape[0]), counted.reshape(-1, source.shape[0])
        rows = np.arange(len(flat))[:, None] * bins
        counts = np.bincount((flat + rows)[used].astype(np.int64), minlength=len(flat) * bins)
        # one undefined value may be counted in any bin
        spread = None if undefined is None else np.max(undefined, axis=-1, keepdims=True)
        if spread is not None and not spread.any():
            spread = None
        write(
            frame,
            r,
            (counts.astype(np.int32).reshape(*programs, bins), spread, (0, source.shape[0])),
        )

    return step


@operation("tt.mulhiui")
def bind_high_product(op: Operation, binding: Binding) -> Step:
    a, b = op.operands
    r = op.results[0]
    type_ = binding.type(r)

    def step(frame: Frame) -> None:
        x, y = frame.data[a], frame.data[b]
        if type_.element == "i32":
            wide = x.view(np.uint32).astype(np.uint64) * y.view(np.uint32)
            out = (wide >> np.uint64(32)).astype(np.uint32).view(np.int32)
        else:
            out = _high_product(x.view(np.uint64), y.view(np.uint64)).view(np.int64)
        write(frame, r, (out, forgiven(join(frame.taint[a], frame.taint[b])), full_range(type_)))

    return step


def _high_product(x: Any, y: Any) -> Any:
    """Multiplies 64-bit halves in the way one learns at school."""
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    x_low, x_high, y_low, y_high = x & low, x >> shift, y & low, y >> shift
    middle = x_high * y_low + ((x_low * y_low) >> shift)
    other = x_low * y_high + (middle & low)
    return x_high * y_high + (middle >> shift) + (other >> shift)


@operation("math.absi")
def bind_absolute(op: Operation, binding: Binding) -> Step:
    a, r = op.operands[0], op.results[0]
    type_ = binding.type(r)

    def step(frame: Frame) -> None:
        data, mark, _ = read(frame, a)
        write(frame, r, (np.abs(data), mark, full_range(type_)))

    return step


@operation("tt.clampf")
def bind_clamp(op: Operation, binding: Binding) -> Step:
    from .elements import decode, encode
    from .floats import BINARY

    x, low, high = op.operands
    r = op.results[0]
    element = binding.type(r).element
    keeps_nan = op.attributes.get("propagateNan") == "all"
    larger = BINARY["arith.maximumf" if keeps_nan else "arith.maxnumf"]
    smaller = BINARY["arith.minimumf" if keeps_nan else "arith.minnumf"]

    def step(frame: Frame) -> None:
        values = [decode(frame.data[slot], element) for slot in (x, low, high)]
        frame.data[r] = encode(smaller(larger(values[0], values[1]), values[2]), element)
        frame.taint[r] = join(join(frame.taint[x], frame.taint[low]), frame.taint[high])

    return step
