"""The eight-bit floats: tables to decode them, searches to round into them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Format:
    """Exponent and mantissa bits, bias, and which patterns are special.

    `ieee`: infinities and NaNs as IEEE has them; `fn`: no infinity, one NaN of each sign;
    `fnuz`: no infinity, no -0, whose pattern is the only NaN.
    """

    exponent: int
    mantissa: int
    bias: int
    specials: str


FORMATS = {
    "f8E5M2": Format(5, 2, 15, "ieee"),
    "f8E4M3FN": Format(4, 3, 7, "fn"),
    "f8E5M2FNUZ": Format(5, 2, 16, "fnuz"),
    "f8E4M3FNUZ": Format(4, 3, 8, "fnuz"),
    "f8E4M3B11FNUZ": Format(4, 3, 11, "fnuz"),
}


@cache
def decode_table(element: str) -> np.ndarray:
    """Returns the float32 value of each of the 256 patterns."""
    form = FORMATS[element]
    patterns = np.arange(256)
    magnitude = patterns & 0x7F
    exponent, mantissa = magnitude >> form.mantissa, magnitude & ((1 << form.mantissa) - 1)
    normal = np.ldexp(1.0 + mantissa / (1 << form.mantissa), exponent - form.bias)
    subnormal = np.ldexp(mantissa / (1 << form.mantissa), 1 - form.bias)
    values = np.where(exponent == 0, subnormal, normal)
    top = (1 << form.exponent) - 1
    if form.specials == "ieee":
        values = np.where(exponent == top, np.where(mantissa == 0, np.inf, np.nan), values)
    elif form.specials == "fn":
        values = np.where(magnitude == 0x7F, np.nan, values)
    values = np.where(patterns >= 128, -values, values)
    if form.specials == "fnuz":
        values[128] = np.nan
    return values.astype(np.float32)


@cache
def _steps(element: str) -> np.ndarray:
    """Returns the finite non-negative values in order of their patterns."""
    table = decode_table(element)[:128].astype(np.float64)
    return table[np.isfinite(table)]


def encode_small(values: Any, element: str, toward_zero: bool = False) -> np.ndarray:
    """Rounds to the nearest value, ties to even, or toward zero; beyond the largest it saturates."""
    form, steps = FORMATS[element], _steps(element)
    wide = np.asarray(values, np.float64)
    magnitude = np.minimum(np.abs(wide), steps[-1])
    magnitude = np.where(np.isnan(wide), 0.0, magnitude)
    below = np.searchsorted(steps, magnitude, side="right") - 1
    above = np.minimum(below + 1, len(steps) - 1)
    if toward_zero:
        pattern = below
    else:
        middle = (steps[below] + steps[above]) / 2
        takes_above = (magnitude > middle) | ((magnitude == middle) & (below % 2 == 1))
        pattern = np.where(takes_above, above, below)
    result = pattern.astype(np.uint8)
    has_sign = np.signbit(wide) & ((pattern != 0) | (form.specials != "fnuz"))
    result |= np.where(has_sign, np.uint8(0x80), np.uint8(0))
    return np.where(np.isnan(wide), np.uint8(0x80 if form.specials == "fnuz" else 0x7F), result)


def encode_toward_zero(values: Any, element: str) -> np.ndarray:
    """Rounds float32 values to a narrower float toward zero; beyond the largest it stays finite."""
    if element == "bf16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        return np.where(np.isnan(values), np.uint32(0x7FFF), bits >> np.uint32(16)).astype(np.uint16)
    if element == "f16":
        nearest = np.asarray(values).astype(np.float16)
        is_over = np.abs(nearest.astype(np.float64)) > np.abs(np.asarray(values, np.float64))
        return np.where(is_over, np.nextafter(nearest, np.float16(0)), nearest).astype(np.float16).view(np.uint16)
    result = encode_small(values, element, toward_zero=True)
    if FORMATS[element].specials == "ieee":
        # the compiler's own sequence for this keeps infinities
        result = np.where(np.isinf(values), np.where(np.signbit(values), 0xFC, 0x7C).astype(np.uint8), result)
    return result
