"""Conversions between element types."""

from __future__ import annotations

from typing import Any

import numpy as np

from .binding import Binding, full_range, stored_dtype
from .cells import join
from .elements import BITS, UNSIGNED, decode, encode
from .integers import first_operands
from .pointers import Pointer
from .program import Operation
from .ranges import known
from .registry import Step, operation
from .run import Frame


@operation("arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui")
def bind_extend(op: Operation, binding: Binding) -> Step:
    a, r = op.operands[0], op.results[0]
    source, target = binding.type(a), stored_dtype(binding.type(r))
    is_unsigned = op.name in ("arith.extui", "arith.index_castui")
    unsigned = UNSIGNED[source.element]
    is_bool = source.element == "i1"

    def step(frame: Frame) -> None:
        x = frame.data[a]
        span = frame.ranges[a]
        if is_bool:
            frame.data[r] = x.astype(target) if is_unsigned else -x.astype(target)
            span = (0, 1) if is_unsigned else (-1, 0)
        elif is_unsigned:
            frame.data[r] = x.view(unsigned).astype(target)
            if span is None or span[0] < 0:
                span = (0, 2 ** BITS[source.element] - 1)
        else:
            frame.data[r] = x.astype(target)
        frame.taint[r] = frame.taint[a]
        frame.ranges[r] = span

    return step


@operation("arith.trunci", note="a value that does not fit counts as wrapped")
def bind_truncate(op: Operation, binding: Binding) -> Step:
    a, r = op.operands[0], op.results[0]
    type_ = binding.type(r)
    target = stored_dtype(type_)
    lowest, highest = full_range(type_)
    is_bool = type_.element == "i1"

    def compute(x: Any) -> Any:
        return (x & 1).astype(bool) if is_bool else x.astype(target)

    def bare(frame: Frame) -> None:
        frame.data[r] = compute(frame.data[a])

    def step(frame: Frame) -> None:
        x, mark, span = frame.data[a], frame.taint[a], known(frame, a)
        out = compute(x)
        if not is_bool and (span[0] < lowest or span[1] > highest):
            bad = out != x
            if bad.any():
                code = frame.run.code("wrapped index", op, False, first_operands(bad, x, x)[:1])
                mark = join(mark, np.where(bad, np.int16(code), np.int16(0)))
            span = (int(out.min()), int(out.max()))
        frame.data[r], frame.taint[r], frame.ranges[r] = out, mark, (0, 1) if is_bool else span

    return step if binding.has_checks else bare


@operation("arith.sitofp", "arith.uitofp")
def bind_to_float(op: Operation, binding: Binding) -> Step:
    a, r = op.operands[0], op.results[0]
    source, element = binding.type(a), binding.type(r).element
    is_unsigned = op.name == "arith.uitofp"
    unsigned = UNSIGNED[source.element]

    def step(frame: Frame) -> None:
        x = frame.data[a]
        if source.element == "i1":
            x = x.astype(np.int8) if is_unsigned else -x.astype(np.int8)
        elif is_unsigned:
            x = x.view(unsigned)
        frame.data[r] = x.astype(np.float32) if element == "f32" else _narrow_integer(x, element)
        frame.taint[r] = frame.taint[a]

    return step


def _narrow_integer(x: Any, element: str) -> Any:
    """Rounds an integer once: through float64, made odd where that already rounds."""
    wide = x.astype(np.float64)
    if element == "f64" or x.dtype.itemsize < 8:
        return encode(wide, element)
    # beyond 2^53 a second rounding could differ; the narrow types overflow or tie long before that matters
    back = np.where(np.abs(wide) < 2.0**63, wide, 0).astype(x.dtype)
    nudged = np.where(back > x, np.nextafter(wide, -np.inf), np.where(back < x, np.nextafter(wide, np.inf), wide))
    return encode(nudged, element)


@operation(
    "arith.fptosi", "arith.fptoui", note="out of range as on an H200: saturates; 8 bits go through 16; NaN as PTX says"
)
def bind_to_integer(op: Operation, binding: Binding) -> Step:
    a, r = op.operands[0], op.results[0]
    source, type_ = binding.type(a), binding.type(r)
    is_unsigned = op.name == "arith.fptoui"
    target = stored_dtype(type_)
    # the hardware converts to no fewer than 16 bits
    bits = max(BITS[type_.element], 16)
    low = 0 if is_unsigned else -(2 ** (bits - 1))
    high = 2**bits - 1 if is_unsigned else 2 ** (bits - 1) - 1
    wide = np.dtype(np.uint64 if is_unsigned else np.int64)
    not_a_number = 0
    if source.element == "f64" or bits == 64:
        not_a_number = 2 ** (bits - 1) if is_unsigned else low

    def step(frame: Frame) -> None:
        x = np.trunc(decode(frame.data[a], source.element)).astype(np.float64)
        inside = np.where((x >= low) & (x < float(high) + 1), x, 0.0).astype(wide)
        whole = np.where(x < low, wide.type(low), np.where(x >= float(high) + 1, wide.type(high), inside))
        whole = np.where(np.isnan(x), wide.type(not_a_number), whole)
        if type_.element == "i1":
            frame.data[r] = whole != 0
        else:
            unsigned = UNSIGNED[type_.element]
            frame.data[r] = whole.astype(unsigned).view(target) if is_unsigned else whole.astype(target)
        frame.taint[r] = frame.taint[a]
        if binding.has_checks:
            frame.ranges[r] = full_range(type_)

    return step


@operation("tt.fp_to_fp", note="rounds as TTIR says: to nearest even or toward zero; fp8 saturates")
def bind_fp_to_fp(op: Operation, binding: Binding) -> Step:
    from .small_floats import encode_toward_zero

    a, r = op.operands[0], op.results[0]
    source, target = binding.type(a).element, binding.type(r).element
    rounds = encode_toward_zero if op.attributes.get("rounding") == "rtz" else encode

    def step(frame: Frame) -> None:
        frame.data[r] = rounds(decode(frame.data[a], source), target)
        frame.taint[r] = frame.taint[a]

    return step


@operation("arith.extf", "arith.truncf")
def bind_float_cast(op: Operation, binding: Binding) -> Step:
    a, r = op.operands[0], op.results[0]
    source, target = binding.type(a).element, binding.type(r).element
    if op.attributes.get("rounding", "rtne") not in ("rtne", "to_nearest_even"):
        raise binding.unsupported(op, str(op.attributes["rounding"]))

    if op.name == "arith.extf":

        def step(frame: Frame) -> None:
            out = decode(frame.data[a], source)
            frame.data[r] = out if target == "f32" else encode(out, target)
            frame.taint[r] = frame.taint[a]

    else:

        def step(frame: Frame) -> None:
            frame.data[r] = encode(decode(frame.data[a], source), target)
            frame.taint[r] = frame.taint[a]

    return step


@operation("tt.bitcast", "arith.bitcast")
def bind_bitcast(op: Operation, binding: Binding) -> Step:
    a, r = op.operands[0], op.results[0]
    source, target = binding.type(a), binding.type(r)
    if source.is_pointer:
        return _pointer_cast(op, binding)
    dtype = stored_dtype(target)
    is_bool = "i1" in (source.element, target.element)

    def step(frame: Frame) -> None:
        x: Any = frame.data[a]
        frame.data[r] = x.astype(dtype) if is_bool else np.ascontiguousarray(x).view(dtype)
        frame.taint[r] = frame.taint[a]
        if binding.has_checks and target.is_integer:
            frame.ranges[r] = full_range(target)

    return step


def _pointer_cast(op: Operation, binding: Binding) -> Step:
    from .elements import item_bytes

    a, r = op.operands[0], op.results[0]
    if item_bytes(binding.type(a).element) != item_bytes(binding.type(r).element):
        raise binding.unsupported(op, "pointee of another size")

    def step(frame: Frame) -> None:
        pointer: Pointer = frame.data[a]
        frame.data[r] = pointer
        frame.taint[r] = frame.taint[a]

    return step
