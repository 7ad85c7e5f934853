"""Inputs for elementwise tests: every pair of special values, then random bits."""

from __future__ import annotations

import torch

BLOCK = 512
FLOAT_SPECIALS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    -2.5,
    float("inf"),
    -float("inf"),
    float("nan"),
    3.0e38,
    1e-40,
    7.0,
]
INTEGERS = {torch.int8: 8, torch.int16: 16, torch.int32: 32, torch.int64: 64}


def floats(dtype: torch.dtype, seed: int, count: int = 2 * BLOCK) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns two tensors of `count` floats; the first entries pair every special with every other."""
    generator = torch.Generator().manual_seed(seed)
    specials = torch.tensor(FLOAT_SPECIALS, dtype=torch.float64).to(dtype)
    x = torch.randn(count, generator=generator, dtype=torch.float64) * 4
    y = torch.randn(count, generator=generator, dtype=torch.float64) * 4
    wide = torch.randint(-30, 30, (count,), generator=generator)
    x[count // 2 :] *= 2.0 ** wide[count // 2 :].double()
    x, y = x.to(dtype), y.to(dtype)
    pairs = torch.cartesian_prod(specials, specials)[: count // 2]
    x[: len(pairs)], y[: len(pairs)] = pairs[:, 0], pairs[:, 1]
    return x, y


def integers(dtype: torch.dtype, seed: int, count: int = 2 * BLOCK) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns two tensors of `count` integers; the first entries pair every special with every other."""
    generator = torch.Generator().manual_seed(seed)
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    specials = torch.tensor([0, 1, -1, 2, 7, -8, low, high, low + 1, high - 1], dtype=dtype)
    x = torch.randint(low, high, (count,), generator=generator, dtype=dtype)
    y = torch.randint(low, high, (count,), generator=generator, dtype=dtype)
    y[count // 2 :] = torch.randint(-9, 10, (count - count // 2,), generator=generator, dtype=dtype)
    pairs = torch.cartesian_prod(specials, specials)
    x[: len(pairs)], y[: len(pairs)] = pairs[:, 0], pairs[:, 1]
    return x, y


def same_bits(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Compares bit for bit, except that any NaN equals any NaN."""
    equal = one == other
    if one.is_floating_point():
        both_nan = one.isnan() & other.isnan()
        signs = torch.signbit(one.double()) == torch.signbit(other.double())
        return (equal & signs) | both_nan
    return equal
