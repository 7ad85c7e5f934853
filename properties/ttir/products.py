"""tt.dot: exact products, summed in float64, rounded once to the accumulator."""

from __future__ import annotations

from typing import Any

import numpy as np

from .binding import Binding, full_range, stored_dtype
from .cells import join
from .elements import decode, encode
from .program import Operation
from .registry import Step, operation
from .run import Frame
from .shapes import widened


def round_to_tf32(values: Any) -> Any:
    """Rounds float32 to the 10 mantissa bits of tf32, ties to even."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(values), rounded.view(np.float32), values)


@operation("tt.dot", note="inputs of precision tf32 are rounded to it first; the sum rounds once")
def bind_dot(op: Operation, binding: Binding) -> Step:
    a, b, c = op.operands
    r = op.results[0]
    left, right, target = binding.type(a), binding.type(b), binding.type(r)
    is_tf32 = left.element == "f32" and op.attributes.get("inputPrecision") == "tf32"
    if "bf16" in str(op.attributes.get("inputPrecision")):
        raise binding.unsupported(op, str(op.attributes["inputPrecision"]))

    def operand(data: Any, type_: Any) -> Any:
        if type_.is_integer:
            return widened(data, type_, binding.axes).astype(np.float64)
        wide = decode(data, type_.element)
        return widened(round_to_tf32(wide) if is_tf32 else wide, type_, binding.axes).astype(np.float64)

    def step(frame: Frame) -> None:
        product = np.matmul(operand(frame.data[a], left), operand(frame.data[b], right))
        if target.is_integer:
            # 8-bit products of any tile that fits a GPU sum far below 2^53
            total = product.astype(np.int64) + frame.data[c]
            frame.data[r] = total.astype(stored_dtype(target))
            frame.ranges[r] = full_range(target)
        else:
            frame.data[r] = encode(product + decode(frame.data[c], target.element), target.element)
        frame.taint[r] = _taint(frame)

    def _taint(frame: Frame) -> Any:
        mark = frame.taint[c]
        if frame.taint[a] is not None:
            mark = join(mark, frame.taint[a].max(axis=-1, keepdims=True))
        if frame.taint[b] is not None:
            mark = join(mark, frame.taint[b].max(axis=-2, keepdims=True))
        return mark

    return step
