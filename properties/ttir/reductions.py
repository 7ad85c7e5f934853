"""tt.reduce and tt.scan: any combine region, run on whole arrays pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .binding import Binding
from .cells import Cell, read, write
from .control import terminator
from .program import Operation, Type
from .registry import Step, operation
from .run import Frame

Combine = Callable[[Frame, list[Cell], list[Cell]], list[Cell]]


def _combiner(op: Operation, binding: Binding) -> Combine:
    """Binds the region once; it runs on arrays of any shape because its operations work lane by lane."""
    block = op.regions[0].entry
    steps, outs = binding.block(block), terminator(block).operands
    count = len(op.operands)

    def combine(frame: Frame, left: list[Cell], right: list[Cell]) -> list[Cell]:
        for slot, cell in zip(block.arguments, left + right, strict=True):
            write(frame, slot, cell)
        for step in steps:
            step(frame)
        return [read(frame, slot) for slot in outs[:count]]

    return combine


def _cut(cell: Cell, axis: int, piece: slice) -> Cell:
    """Takes lanes of one axis out of data and taint."""
    where = (slice(None),) * axis + (piece,)
    data, mark, span = cell
    return data[where], None if mark is None else mark[where], span


def _spread(frame: Frame, slot: int, type_: Type, axis: int) -> Cell:
    """Returns a value whose reduced axis has its true size, in data and taint."""
    data, mark, span = read(frame, slot)
    size = type_.shape[axis - len(frame.start)]

    def wide(array: Any) -> Any:
        if array.shape[axis] == size:
            return array
        return np.broadcast_to(array, (*array.shape[:axis], size, *array.shape[axis + 1 :]))

    return wide(data), None if mark is None else wide(mark), span


@operation("tt.reduce", note="neighbours first, in order; the GPU's order of a float sum depends on its layout")
def bind_reduce(op: Operation, binding: Binding) -> Step:
    types = [binding.type(slot) for slot in op.operands]
    axis = binding.axes + int(str(op.attributes["axis"]))
    size = types[0].shape[axis - binding.axes]
    combine = _combiner(op, binding)

    def step(frame: Frame) -> None:
        cells = [_spread(frame, slot, type_, axis) for slot, type_ in zip(op.operands, types, strict=True)]
        length = size
        while length > 1:
            half = length // 2
            left = [_cut(cell, axis, slice(0, 2 * half, 2)) for cell in cells]
            right = [_cut(cell, axis, slice(1, 2 * half, 2)) for cell in cells]
            cells = combine(frame, left, right)
            length = half
        for slot, (data, mark, span) in zip(op.results, cells, strict=True):
            write(frame, slot, (_drop(data, axis), None if mark is None else _drop(mark, axis), span))

    return step


def _drop(array: Any, axis: int) -> Any:
    return array[(slice(None),) * axis + (0,)] if array.ndim > axis else array


@operation("tt.scan", note="doubling distances; each prefix keeps its order")
def bind_scan(op: Operation, binding: Binding) -> Step:
    types = [binding.type(slot) for slot in op.operands]
    axis = binding.axes + int(str(op.attributes["axis"]))
    size = types[0].shape[axis - binding.axes]
    is_reversed = op.attributes.get("reverse") is True
    combine = _combiner(op, binding)

    def step(frame: Frame) -> None:
        cells = [_spread(frame, slot, type_, axis) for slot, type_ in zip(op.operands, types, strict=True)]
        if is_reversed:
            cells = [_cut(cell, axis, slice(None, None, -1)) for cell in cells]
        distance = 1
        while distance < size:
            left = [_cut(cell, axis, slice(0, size - distance)) for cell in cells]
            right = [_cut(cell, axis, slice(distance, size)) for cell in cells]
            heads = [_cut(cell, axis, slice(0, distance)) for cell in cells]
            tails = combine(frame, left, right)
            cells = [_append(head, tail, axis) for head, tail in zip(heads, tails, strict=True)]
            distance *= 2
        if is_reversed:
            cells = [_cut(cell, axis, slice(None, None, -1)) for cell in cells]
        for slot, cell in zip(op.results, cells, strict=True):
            write(frame, slot, cell)

    return step


def _append(head: Cell, tail: Cell, axis: int) -> Cell:
    data = _concatenate(head[0], tail[0], axis)
    mark = None
    if head[1] is not None or tail[1] is not None:
        marks = [
            np.zeros(array.shape, np.int16) if taint is None else np.broadcast_to(taint, array.shape)
            for array, taint, _ in (head, tail)
        ]
        mark = np.concatenate(marks, axis)
    span = None
    if head[2] is not None and tail[2] is not None:
        span = (min(head[2][0], tail[2][0]), max(head[2][1], tail[2][1]))
    return data, mark, span


def _concatenate(one: Any, other: Any, axis: int) -> Any:
    """Joins two arrays along one axis, with the other axes broadcast against each other."""
    shape = np.broadcast_shapes(
        tuple(1 if number == axis else size for number, size in enumerate(one.shape)),
        tuple(1 if number == axis else size for number, size in enumerate(other.shape)),
    )
    wide = [np.broadcast_to(array, (*shape[:axis], array.shape[axis], *shape[axis + 1 :])) for array in (one, other)]
    return np.concatenate(wide, axis)
