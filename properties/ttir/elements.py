"""Element types: how each is stored in NumPy, and its exact conversions to and from computing floats."""

from __future__ import annotations

import numpy as np

# narrow floats are carried as bit patterns, so that loads, selects and stores move them untouched
STORED: dict[str, np.dtype] = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.uint16),
    "bf16": np.dtype(np.uint16),
    "f8E4M3FN": np.dtype(np.uint8),
    "f8E5M2": np.dtype(np.uint8),
    "f8E4M3FNUZ": np.dtype(np.uint8),
    "f8E5M2FNUZ": np.dtype(np.uint8),
    "f8E4M3B11FNUZ": np.dtype(np.uint8),
}
WIDE_FLOATS = ("f32", "f64")
SIXTEEN = np.uint32(16)
# up to here one look-up is faster than the two passes that a shift takes
TABLE_LANES = 1024
_BFLOAT16 = (np.arange(1 << 16, dtype=np.uint32) << SIXTEEN).view(np.float32)
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
SIGNED_RANGE = {name: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in BITS.items()}
SIGNED_RANGE["i1"] = (0, 1)
UNSIGNED = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.uint8),
    "i16": np.dtype(np.uint16),
    "i32": np.dtype(np.uint32),
    "i64": np.dtype(np.uint64),
}


def item_bytes(element: str) -> int:
    """Returns the bytes one element takes in memory."""
    return STORED[element].itemsize


def as_bits(values: np.ndarray) -> np.ndarray:
    """Returns the same memory as integers, for comparison bit for bit."""
    return values.view(f"u{values.dtype.itemsize}") if values.dtype.kind == "f" else values


def decode(bits: np.ndarray, element: str) -> np.ndarray:
    """Widens stored values exactly: narrow floats to float32, wide ones as they are."""
    if element in WIDE_FLOATS:
        return bits
    if element == "bf16":
        if bits.size <= TABLE_LANES:
            return _BFLOAT16.take(bits)
        wide = bits.astype(np.uint32)
        wide <<= SIXTEEN
        return wide.view(np.float32)
    if element == "f16":
        return bits.view(np.float16).astype(np.float32)
    from .small_floats import decode_table

    return decode_table(element)[bits]


def encode(values: np.ndarray, element: str) -> np.ndarray:
    """Rounds float32 (or float64) values to the nearest stored value, ties to even."""
    if element in WIDE_FLOATS:
        return values.astype(STORED[element], copy=False)
    if element == "bf16":
        return _encode_bf16(values)
    if element == "f16":
        return values.astype(np.float16).view(np.uint16)
    from .small_floats import encode_small

    return encode_small(values, element)


def _encode_bf16(values: np.ndarray) -> np.ndarray:
    if values.dtype == np.float64:
        values = _round_to_odd_float32(values)
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded = bits >> np.uint32(16)
    rounded &= np.uint32(1)
    rounded += np.uint32(0x7FFF)
    rounded += bits
    rounded >>= np.uint32(16)
    result = rounded.astype(np.uint16)
    is_nan = values != values
    if is_nan.any():
        # the GPU's conversion answers every NaN with this one
        result[is_nan] = 0x7FFF
    return result


def _round_to_odd_float32(values: np.ndarray) -> np.ndarray:
    """Narrows float64 so that a second rounding to at most 22 bits is the same as one rounding."""
    nearest = values.astype(np.float32)
    back = nearest.astype(np.float64)
    inexact = (back != values) & np.isfinite(values)
    if not inexact.any():
        return nearest
    toward_zero = np.where(np.abs(back) > np.abs(values), np.nextafter(nearest, np.float32(0)), nearest)
    bits = toward_zero.view(np.uint32) | inexact.astype(np.uint32)
    return bits.view(np.float32)
