"""Contents: kinds of numbers that fill tensors, from a seed."""

from __future__ import annotations

import numpy as np
import torch

from properties.contract import DTYPES

# Bit patterns of the smallest positive normal number, how many finite positive normals follow it, and a quiet
# NaN with a payload of its own (poison); by dtype. Integer views are of the same width.
_PATTERNS = {
    "bf16": (np.int16, 0x0080, 0x7F00, 0x7FD5),
    "fp16": (np.int16, 0x0400, 0x7800, 0x7FA5),
    "fp32": (np.int32, 0x00800000, 0x7F000000, 0x7FD5A5A5),
}
BITS = {torch.bfloat16: torch.int16, torch.float16: torch.int16, torch.float32: torch.int32}


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as integers, for comparison bit for bit; integer tensors pass through."""
    return tensor.view(BITS[tensor.dtype]) if tensor.dtype in BITS else tensor


def poison(count: int, dtype: str) -> torch.Tensor:
    """`count` quiet NaNs with a recognisable payload."""
    integer, _, _, nan = _PATTERNS[dtype]
    return torch.from_numpy(np.full(count, nan, integer)).view(DTYPES[dtype])


def codes(first: int, count: int, dtype: str) -> torch.Tensor:
    """`count` positive normal numbers that tell positions apart: bit patterns scattered by a stride, from about 1 on.

    Distinct until the dtype has no more finite patterns (30,720 for fp16, 32,512 for bf16).
    """
    integer, smallest, span, _ = _PATTERNS[dtype]
    stride = 7919  # a prime that divides no span, so that neighbouring codes differ in exponent as well
    pattern = smallest + (span // 2 + np.arange(first, first + count, dtype=np.int64) * stride) % span
    return torch.from_numpy(pattern.astype(integer)).view(DTYPES[dtype])


def inputs(kind: str, generator: np.random.Generator, rows: int, C: int, dtype: str) -> torch.Tensor:
    """Conv inputs `[rows, C]` of a kind; `codes` are made by the caller, who knows the positions."""
    shape = (rows, C)
    values: np.ndarray
    if kind == "exact":
        values = generator.integers(-127, 128, shape).astype(np.float32)
    elif kind == "normal":
        values = generator.standard_normal(shape, np.float32)
    elif kind == "wide":
        reach = 8 if dtype == "fp16" else 20
        mantissa = generator.standard_normal(shape, np.float32)
        values = np.ldexp(mantissa, generator.integers(-reach, reach // 2 + 1, shape).astype(np.int32))
    elif kind == "cancel":
        level = generator.standard_normal((1, C), np.float32) * np.float32(16)
        values = level + generator.standard_normal(shape, np.float32) * np.float32(2**-6)
    elif kind in ("tiny", "huge"):
        return extremes(kind, generator, shape, dtype)
    else:
        raise ValueError(f"contents={kind!r} is not one of exact, normal, wide, cancel, tiny, huge")
    return torch.from_numpy(np.ascontiguousarray(values, np.float32)).to(DTYPES[dtype])


def extremes(kind: str, generator: np.random.Generator, shape: tuple[int, int], dtype: str) -> torch.Tensor:
    """Numbers of either sign: zeros, subnormals and the smallest normals (`tiny`), or the 16 largest (`huge`)."""
    integer, smallest, span, _ = _PATTERNS[dtype]
    if kind == "tiny":
        pattern = generator.integers(0, 2 * smallest, shape, integer)
        pattern[generator.random(shape) < 1 / 8] = 0
    else:
        pattern = (smallest + span - generator.integers(1, 17, shape)).astype(integer)
    values = torch.from_numpy(np.ascontiguousarray(pattern)).view(DTYPES[dtype])
    return torch.where(torch.from_numpy(generator.random(shape) < 1 / 2), values, -values)  # -0 as well


def weights(kind: str, generator: np.random.Generator, C: int, W: int, dtype: str) -> torch.Tensor:
    """Weights `[C, W]` that go with a kind of inputs.

    `exact`: eighths in [-2, 2], so that W products of the inputs and the residual are exact in fp32
    (multiples of 1/8 below 2^14: 17 bits). `codes`: one tap per channel, cycling. `huge`: the same with
    signs, so that no partial sum passes fp32; where x is fp16, no sum can, and every tap is 1 or -1.
    """
    values: np.ndarray
    if kind == "exact":
        values = generator.integers(-16, 17, (C, W)).astype(np.float32) / 8
    elif kind in ("codes", "huge"):
        values = np.zeros((C, W), np.float32)
        values[np.arange(C), (np.arange(C) + int(generator.integers(W))) % W] = 1
        if kind == "huge":
            signs = generator.choice(np.array([-1, 1], np.float32), (C, W))
            values = signs if dtype == "fp16" else values * signs
    elif kind == "cancel":
        values = generator.standard_normal((C, W), np.float32)
        values -= values.mean(axis=1, keepdims=True)
    else:
        values = generator.standard_normal((C, W), np.float32)
    return torch.from_numpy(values).to(DTYPES[dtype])


def filler(generator: np.random.Generator, count: int, dtype: str) -> torch.Tensor:
    """`count` finite numbers unlike the inputs, repeated from a small pool: what memory outside every window holds."""
    pool = generator.standard_normal(1021, np.float32) * 64 + 300
    return torch.from_numpy(np.resize(pool, count)).to(DTYPES[dtype])
