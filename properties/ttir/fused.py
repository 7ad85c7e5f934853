"""Fused multiply-add with one rounding, computed in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from .binding import Binding
from .cells import join
from .elements import decode, encode
from .program import Operation
from .registry import Step, operation
from .run import Frame

# the 29 bits that float64 has and float32 has not: exactly half means a tie
EXTRA_BITS = np.uint64(0x1FFFFFFF)
HALF = np.uint64(0x10000000)
MAGNITUDE = np.uint64(0x7FFFFFFFFFFFFFFF)
ONE = np.uint64(1)
# the bits of 2^-126 as float64, less one
SMALLEST_NORMAL = np.uint64(0x380FFFFFFFFFFFFF)


def fused_float32(a: Any, b: Any, c: Any) -> Any:
    """Returns a * b + c for float32 with one rounding.

    The product is exact in float64. The sum rounds to float64 first; that changes the final result
    only where the first rounding lands exactly on a tie of float32, and those lanes are decided
    by the sign of the first rounding's error.
    """
    product = np.multiply(a, b, dtype=np.float64)
    total = product + c
    result = total.astype(np.float32)
    bits = total.view(np.uint64)
    tie = (bits & EXTRA_BITS) == HALF
    small = ((bits & MAGNITUDE) - ONE) < SMALLEST_NORMAL  # zero wraps around to the largest number
    if small.any():
        # float32's subnormals have spacing 2^-149, so their ties are odd multiples of 2^-150
        steps = np.where(small, total, 0.0) * 2.0**150
        tie = np.where(small, (steps == np.rint(steps)) & (np.fmod(steps, 2.0) != 0), tie)
    if not tie.any():
        return result
    back = total - product
    error = (product - (total - back)) + (c - back)
    undecided = tie & (error != 0) & np.isfinite(total)
    nudged = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where(undecided, nudged, total).astype(np.float32)


def _fused_narrow(a: Any, b: Any, c: Any, element: str) -> Any:
    """Does the same for 16-bit floats: the float64 sum is made odd where inexact, then rounded once."""
    product = np.multiply(a, b, dtype=np.float64)
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)
    inexact = (error != 0) & np.isfinite(total)
    if inexact.any():
        is_even = (total.view(np.uint64) & np.uint64(1)) == 0
        nudged = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
        total = np.where(inexact & is_even, nudged, total)
    return encode(total, element)


@operation("machine.fma", "math.fma", note="one rounding; `machine.fma` is a product and a sum, contracted")
def bind_fma(op: Operation, binding: Binding) -> Step:
    a, b, c = op.operands
    r = op.results[0]
    element = binding.type(r).element
    negates_product = bool(op.attributes.get("negates_product"))
    negates_addend = bool(op.attributes.get("negates_addend"))
    if element == "f64":
        raise binding.unsupported(op, "f64")

    def step(frame: Frame) -> None:
        data, taint = frame.data, frame.taint
        x, y, z = decode(data[a], element), decode(data[b], element), decode(data[c], element)
        if negates_product:
            x = -x
        if negates_addend:
            z = -z
        data[r] = fused_float32(x, y, z) if element == "f32" else _fused_narrow(x, y, z, element)
        mark = taint[a]
        if taint[b] is not None or taint[c] is not None:
            mark = join(join(mark, taint[b]), taint[c])
        taint[r] = mark

    return step
