"""Fused multiply-add with one rounding, computed in float64."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from .binding import Binding
from .cells import join
from .counting import count
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
    if count(result == total) == total.size:
        return result  # nothing was rounded
    bits = total.view(np.uint64)
    tie = (bits & EXTRA_BITS) == HALF
    small = ((bits & MAGNITUDE) - ONE) < SMALLEST_NORMAL  # zero wraps around to the largest number
    if count(small):
        # float32's subnormals have spacing 2^-149, so their ties are odd multiples of 2^-150
        steps = np.where(small, total, 0.0) * 2.0**150
        tie = np.where(small, (steps == np.rint(steps)) & (np.fmod(steps, 2.0) != 0), tie)
    if not count(tie):
        return result
    back = total - product
    error = (product - (total - back)) + (c - back)
    undecided = tie & (error != 0) & np.isfinite(total)
    nudged = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where(undecided, nudged, total).astype(np.float32)


def _two_sum(x: Any, y: Any) -> tuple[Any, Any]:
    """Returns a rounded sum and its error (Knuth)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def _two_product(x: Any, y: Any) -> tuple[Any, Any]:
    """Returns a rounded product and its error, from halves of 26 bits (Dekker, Veltkamp)."""
    product = x * y
    x_high, y_high = _upper_half(x), _upper_half(y)
    x_low, y_low = x - x_high, y - y_high
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, error


def _upper_half(x: Any) -> Any:
    shifted = x * 134217729.0  # 2^27 + 1
    return shifted - (shifted - x)


def _odd_sum(x: Any, y: Any) -> Any:
    """Returns a sum that, where inexact, has an odd last bit: rounding it again is rounding once."""
    total, error = _two_sum(x, y)
    is_even = (total.view(np.uint64) & ONE) == 0
    nudged = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where((error != 0) & is_even & np.isfinite(total), nudged, total)


def fused_float64(a: Any, b: Any, c: Any) -> Any:
    """Returns a * b + c for float64 with one rounding (Boldo and Melquiond, 2008).

    Lanes whose intermediate values leave the middle of the exponents' range are computed as fractions.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    product, product_error = _two_product(a, b)
    low, low_error = _two_sum(c, product_error)
    high, high_error = _two_sum(product, low)
    result = high + _odd_sum(low_error, high_error)
    sizes = [np.abs(value) for value in (a, b, product)]
    is_middle = np.logical_and.reduce([(size > 2.0**-400) & (size < 2.0**400) for size in sizes])
    is_middle &= (np.abs(c) < 2.0**400) & ((np.abs(c) > 2.0**-400) | (c == 0))
    if not is_middle.all():
        result = np.where(is_middle, result, _as_fractions(a, b, c, ~is_middle))
    return result


def _as_fractions(a: Any, b: Any, c: Any, lanes: Any) -> Any:
    """Computes chosen lanes exactly; infinities, NaN and zero products need no care."""
    result = a * b + c
    for place in zip(*np.nonzero(lanes), strict=True):
        x, y, z = float(a[place]), float(b[place]), float(c[place])
        if np.isfinite([x, y, z]).all() and x and y:
            exact = Fraction(x) * Fraction(y) + Fraction(z)
            try:
                # a quotient of integers rounds once
                result[place] = float(exact) if exact else x * y + z
            except OverflowError:
                result[place] = np.inf if exact > 0 else -np.inf
    return result


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
    compute = {"f32": fused_float32, "f64": fused_float64}.get(element)

    def step(frame: Frame) -> None:
        data, taint = frame.data, frame.taint
        x, y, z = decode(data[a], element), decode(data[b], element), decode(data[c], element)
        if negates_product:
            x = -x
        if negates_addend:
            z = -z
        data[r] = compute(x, y, z) if compute is not None else _fused_narrow(x, y, z, element)
        mark = taint[a]
        if taint[b] is not None or taint[c] is not None:
            mark = join(join(mark, taint[b]), taint[c])
        taint[r] = mark

    return step
