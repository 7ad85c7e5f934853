"""Operations that move lanes without computing; a splat or broadcast costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .binding import Binding
from .pointers import Pointer
from .program import Operation, Type
from .registry import Step, operation
from .run import Frame

Change = Callable[[Any], Any]


def moving(op: Operation, binding: Binding, change: Change, mixes_lanes: bool = False) -> Step:
    """Applies one change of shape to data, pointers and taint alike; ranges stay."""
    a, r = op.operands[0], op.results[0]
    rank = binding.axes + binding.type(r).rank
    is_pointer = binding.type(r).is_pointer

    def step(frame: Frame) -> None:
        data, taint, ranges = frame.data, frame.taint, frame.ranges
        if is_pointer:
            pointer: Pointer = data[a]
            data[r] = pointer.whole(change, rank) if mixes_lanes else pointer.reshaped(change, rank)
        else:
            data[r] = change(data[a])
        mark = taint[a]
        taint[r] = None if mark is None else change(mark)
        ranges[r] = ranges[a]

    return step


def widened(array: Any, type_: Type, axes: int) -> Any:
    """Returns an array whose tile axes have their full sizes, its program axes as they are."""
    return np.broadcast_to(array, array.shape[:axes] + type_.shape)


@operation("tt.splat", note="free: sizes of 1 stand for any size")
def bind_splat(op: Operation, binding: Binding) -> Step:
    ones = (1,) * binding.type(op.results[0]).rank
    return moving(op, binding, lambda x: x.reshape(x.shape + ones))


@operation("tt.unsplat")
def bind_unsplat(op: Operation, binding: Binding) -> Step:
    axes = binding.axes
    return moving(op, binding, lambda x: x.reshape(x.shape[:axes]))


@operation("tt.broadcast", note="free")
def bind_broadcast(op: Operation, binding: Binding) -> Step:
    a, r = op.operands[0], op.results[0]

    def step(frame: Frame) -> None:
        frame.data[r], frame.taint[r], frame.ranges[r] = frame.data[a], frame.taint[a], frame.ranges[a]

    return step


@operation("tt.expand_dims")
def bind_expand(op: Operation, binding: Binding) -> Step:
    axis = binding.axes + int(str(op.attributes["axis"]))
    where = (slice(None),) * axis + (None,)
    return moving(op, binding, lambda x: x[where])


@operation("tt.reshape")
def bind_reshape(op: Operation, binding: Binding) -> Step:
    source, target, axes = binding.type(op.operands[0]), binding.type(op.results[0]), binding.axes

    def change(x: Any) -> Any:
        if x.shape[axes:] == (1,) * source.rank:
            return x.reshape(x.shape[:axes] + (1,) * target.rank)
        return widened(x, source, axes).reshape(x.shape[:axes] + target.shape)

    return moving(op, binding, change, mixes_lanes=True)


@operation("tt.trans")
def bind_transpose(op: Operation, binding: Binding) -> Step:
    order = op.attributes["order"]
    assert isinstance(order, tuple)  # printed as an array attribute
    axes = binding.axes
    permutation = tuple(range(axes)) + tuple(axes + axis for axis in order)
    return moving(op, binding, lambda x: x.transpose(permutation))


@operation("tt.make_range")
def bind_range(op: Operation, binding: Binding) -> None:
    start, end = int(str(op.attributes["start"])), int(str(op.attributes["end"]))
    r = op.results[0]
    binding.data[r] = np.arange(start, end, dtype=np.int32).reshape((1,) * binding.axes + (-1,))
    binding.ranges[r] = (start, end - 1)


AXES = {"x": 0, "y": 1, "z": 2}


@operation("tt.get_program_id")
def bind_program_id(op: Operation, binding: Binding) -> Step:
    axis, r = AXES[op.words[0]], op.results[0]

    def step(frame: Frame) -> None:
        axes = frame.run.axes
        shape = [1] * len(axes)
        if axis in axes:
            place = axes.index(axis)
            shape[place] = -1
            first, count = frame.start[place], frame.sizes[place]
        else:
            first, count = 0, 1
        frame.data[r] = np.arange(first, first + count, dtype=np.int32).reshape(shape)
        frame.ranges[r] = (first, first + count - 1)

    return step


@operation("tt.get_num_programs")
def bind_program_count(op: Operation, binding: Binding) -> Step:
    axis, r = AXES[op.words[0]], op.results[0]
    shape = (1,) * binding.axes

    def step(frame: Frame) -> None:
        count = frame.run.grid[axis]
        frame.data[r] = np.full(shape, count, np.int32)
        frame.ranges[r] = (count, count)

    return step


@operation("arith.select", note="takes the chosen side's taint")
def bind_select(op: Operation, binding: Binding) -> Step:
    from .cells import choose, join

    c, a, b = op.operands
    r = op.results[0]
    rank = binding.type(r).rank
    has_checks = binding.has_checks
    is_pointer = binding.type(r).is_pointer

    def bare(frame: Frame) -> None:
        data = frame.data
        condition = data[c]
        x, y = data[a], data[b]
        if condition.ndim < x.ndim:
            condition = condition.reshape(condition.shape + (1,) * (x.ndim - condition.ndim))
        data[r] = np.where(condition, x, y)

    def step(frame: Frame) -> None:
        data, taint, ranges = frame.data, frame.taint, frame.ranges
        condition, mark = data[c], taint[c]
        if mark is not None and condition.ndim < binding.axes + rank:
            mark = mark.reshape(mark.shape + (1,) * rank)
        out, chosen, span = choose(condition, (data[a], taint[a], ranges[a]), (data[b], taint[b], ranges[b]), rank)
        data[r], taint[r], ranges[r] = out, join(chosen, mark), span

    return step if has_checks or is_pointer else bare
