"""Tensor descriptors: blocks addressed by coordinates, zero where they leave the shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .access import checked_lanes, compress, full_tile, judge_taint, plain_lanes, put, span
from .atomics import apply, note, update_for
from .binding import Binding, stored_dtype
from .cells import join
from .pointers import Pointer
from .program import Operation, Type
from .registry import Step, operation
from .run import Frame


@dataclass
class Descriptor:
    """A base pointer, sizes and strides in elements, one array of one item per axis."""

    pointer: Pointer
    sizes: list[Any]
    strides: list[Any]
    pads_with_nan: bool = False

    @property
    def nbytes(self) -> int:
        """Returns what remembering it costs, next to nothing."""
        return 0

    def tobytes(self) -> bytes:
        """Returns what tells it from others of the same launch: sizes and strides are arguments of their own."""
        return bytes([self.pads_with_nan])


def on_host(pointer: Pointer, made: Any) -> Descriptor:
    """Returns a descriptor that the caller made, `made.shape` and `made.strides` in elements."""
    sizes, strides = (
        [np.full((1,) * pointer.rank, number, dtype) for number in numbers]
        for numbers, dtype in ((made.shape, np.int32), (made.strides, np.int64))
    )
    return Descriptor(pointer, sizes, strides, str(getattr(made, "padding", "zero")) == "nan")


@operation("tt.make_tensor_descriptor")
def bind_make(op: Operation, binding: Binding) -> Step:
    r = op.results[0]
    rank = binding.type(r).rank
    base, sizes, strides = op.operands[0], op.operands[1 : 1 + rank], op.operands[1 + rank : 1 + 2 * rank]
    pads_with_nan = "nan" in str(op.attributes.get("padding", ""))

    def step(frame: Frame) -> None:
        mark = None
        for slot in op.operands:
            mark = join(mark, frame.taint[slot])
        frame.data[r] = Descriptor(
            frame.data[base],
            [frame.data[slot] for slot in sizes],
            [frame.data[slot] for slot in strides],
            pads_with_nan,
        )
        frame.taint[r] = mark

    return step


def _tile(frame: Frame, descriptor: Descriptor, places: list[Any], type_: Type, axes: int) -> tuple[Any, Any]:
    """Returns the pointer to every lane of a block, and which lanes lie within the shape.

    `places` are the coordinates of the block's first lane, or, for gathers, of every row.
    """
    rank = len(places)
    pointer = descriptor.pointer
    pointer = pointer.reshaped(lambda part: part.reshape(part.shape + (1,) * rank), pointer.rank + rank)
    mask = None
    for axis, first in enumerate(places):
        shape = [1] * rank
        shape[axis] = -1
        if first.ndim > axes:
            lanes = first.astype(np.int64).reshape(first.shape[:axes] + tuple(shape))
        else:
            steps = np.arange(type_.shape[axis], dtype=np.int64).reshape(shape)
            lanes = first.astype(np.int64).reshape(first.shape + (1,) * rank) + steps
        stride = descriptor.strides[axis].astype(np.int64)
        size = descriptor.sizes[axis]
        within = (lanes >= 0) & (lanes < size.reshape(size.shape + (1,) * rank))
        offset = lanes * stride.reshape(stride.shape + (1,) * rank)
        offset = np.where(within, offset, 0)
        pointer = pointer.shifted(offset, *span(offset))
        mask = within if mask is None else mask & within
    return pointer, mask


def _places(frame: Frame, op: Operation, binding: Binding, slots: tuple[int, ...], rank: int) -> list[Any]:
    """Returns coordinates for the trailing axes, with zeros for leading ones of length one."""
    given = [frame.data[slot] for slot in slots]
    return [np.zeros((1,) * binding.axes, np.int32)] * (rank - len(given)) + given


def _marks(frame: Frame, slots: tuple[int, ...], rank: int) -> Any:
    """Returns the joined taint of a descriptor and its coordinates, which say nothing lane by lane, for every lane."""
    mark = None
    for slot in slots:
        other = frame.taint[slot]
        if other is not None:
            mark = join(mark, other.reshape(other.shape + (1,) * (rank - other.ndim)))
    return mark


class _Borrowed:
    """Runs an access with a computed pointer and mask in slots of its own."""

    def __init__(self, op: Operation, binding: Binding) -> None:
        self.pointer = binding.new_slot(Type("i8", is_pointer=True))
        self.mask = binding.new_slot(Type("i1"))

    def fill(self, frame: Frame, pointer: Any, mask: Any, mark: Any) -> None:
        frame.data[self.pointer], frame.taint[self.pointer] = pointer, mark
        # an undefined size or coordinate leaves open which lanes take part, whatever memory happens to hold
        frame.data[self.mask], frame.taint[self.mask] = mask, mark


@operation("tt.descriptor_load", "tt.descriptor_gather", note="lanes outside of the shape are 0, or NaN if so made")
def bind_load(op: Operation, binding: Binding) -> Step:
    from .access import bind_load as bind_plain_load

    borrowed = _Borrowed(op, binding)
    d, coordinates, r = op.operands[0], op.operands[1:], op.results[0]
    type_, descriptor_type = binding.type(r), binding.type(d)
    rank = descriptor_type.rank
    tile_type = Type(type_.element, type_.shape) if op.name.endswith("gather") else descriptor_type
    filler = binding.new_slot(Type(type_.element, tile_type.shape))
    result = binding.new_slot(Type(type_.element, tile_type.shape))
    load = Operation("tt.load", (borrowed.pointer, borrowed.mask, filler), (result,), {}, (), op.location)
    inner = bind_plain_load(load, binding)
    assert inner is not None  # a load always runs
    nan = {"f32": np.nan, "f64": np.nan, "f16": 0x7E00, "bf16": 0x7FC0}.get(type_.element, 0)

    def step(frame: Frame) -> None:
        descriptor: Descriptor = frame.data[d]
        places = _places(frame, op, binding, coordinates, rank)
        pointer, mask = _tile(frame, descriptor, places, tile_type, binding.axes)
        mark = _marks(frame, (d, *coordinates), pointer.rank)
        borrowed.fill(frame, pointer, mask, mark)
        dtype = stored_dtype(type_)
        value = dtype.type(nan if descriptor.pads_with_nan else 0)
        frame.data[filler] = np.full((1,) * pointer.rank, value)
        frame.taint[filler] = None
        inner(frame)
        programs = frame.data[result].shape[: binding.axes]
        full = np.broadcast_to(frame.data[result], programs + tile_type.shape)
        frame.data[r] = full.reshape(programs + type_.shape)
        tainted = frame.taint[result]
        if tainted is not None:
            tainted = np.broadcast_to(tainted, programs + tile_type.shape).reshape(programs + type_.shape)
        frame.taint[r], frame.ranges[r] = tainted, frame.ranges[result]

    return step


@operation("tt.descriptor_store", "tt.descriptor_scatter", "tt.descriptor_reduce")
def bind_store(op: Operation, binding: Binding) -> Step:
    borrowed = _Borrowed(op, binding)
    d = op.operands[0]
    coordinates, v = op.operands[1:-1], op.operands[-1]
    type_, descriptor_type = binding.type(v), binding.type(d)
    rank = descriptor_type.rank
    tile_type = Type(type_.element, type_.shape) if op.name.endswith("scatter") else descriptor_type
    update = None
    if op.name.endswith("reduce"):
        word = op.words[0]
        is_float = type_.is_float
        update = update_for({"add": "fadd" if is_float else "add", "inc": "add"}.get(word, word), type_.element)

    def step(frame: Frame) -> None:
        descriptor: Descriptor = frame.data[d]
        places = _places(frame, op, binding, coordinates, rank)
        pointer, mask = _tile(frame, descriptor, places, tile_type, binding.axes)
        mark = _marks(frame, (d, *coordinates), pointer.rank)
        borrowed.fill(frame, pointer, mask, mark)
        data, taint = frame.data[v], frame.taint[v]
        programs = data.shape[: binding.axes]
        full = np.broadcast_to(data, programs + type_.shape).reshape(programs + tile_type.shape)
        if taint is not None:
            taint = np.broadcast_to(taint, taint.shape[: binding.axes] + type_.shape)
            taint = taint.reshape(taint.shape[: binding.axes] + tile_type.shape)
        if update is not None:
            _reduce(frame, full, taint, pointer, mask)
            return
        saved = frame.data[v], frame.taint[v]
        frame.data[v], frame.taint[v] = full, taint
        put(frame, op, (borrowed.pointer, v, borrowed.mask), tile_type.shape, type_.element, pointer, None)
        frame.data[v], frame.taint[v] = saved

    def _reduce(frame: Frame, full: Any, taint: Any, pointer: Pointer, mask: Any) -> None:
        size = full_tile(frame, tile_type.shape)
        slots = (borrowed.pointer, borrowed.mask)
        if binding.has_checks:
            offset, allowed = checked_lanes(frame, op, *slots, tile_type.shape, "write", pointer, None)
            if taint is not None:
                judge_taint(frame, op, "atomic operand", taint, allowed, size, False)
        else:
            offset, allowed = plain_lanes(frame, *slots, tile_type.shape, pointer, None)
        where, values, wide = compress(offset, full, allowed, size)
        if len(where):
            assert update is not None  # only reductions come here
            buffer = frame.run.buffers[pointer.base]
            note(frame, op, buffer, where, wide, size)
            apply(buffer.view(type_.element), where, lambda old, lanes: update(old, values[lanes]))

    return step
