"""Fused multiply-add rounds once, and is used where the GPU's compiler uses it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from properties.ttir import Machine
from properties.ttir.fused import fused_float32, fused_float64

from . import contraction_kernels as kernels
from .contraction_kernels import KINDS

LANES = 512


def nearest(exact: Fraction, dtype: type) -> float:
    """Rounds a fraction to the nearest float, ties to even, by comparing neighbours."""
    guess = dtype(float(exact))
    candidates = [np.nextafter(guess, dtype(-np.inf)), guess, np.nextafter(guess, dtype(np.inf))]

    def distance(value):
        return abs(Fraction(float(value)) - exact), int(value.view(f"u{value.itemsize}")) & 1

    return float(min((value for value in candidates if np.isfinite(value)), key=distance))


def hard_factors(dtype: Any, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns factors and addends whose exact sums lie near ties, cancel, or are subnormal."""
    random = np.random.default_rng(seed)
    info = np.finfo(dtype)
    a: Any = random.standard_normal(LANES).astype(dtype)
    b: Any = random.standard_normal(LANES).astype(dtype)
    c: Any = random.standard_normal(LANES).astype(dtype)
    c[100:200] = -(a[100:200] * b[100:200])
    few: Any = np.array(2.0 ** (-(info.nmant + 1) // 2), dtype)
    a[200:300] = 1 + few * random.integers(0, 8, 100)
    b[200:300] = 1 + few * random.integers(0, 8, 100)
    c[200:300] = info.eps * 2.0 ** random.integers(-60, 10, 100)
    small = int(info.minexp // 2)
    a[300:400] *= dtype(2.0) ** small
    b[300:400] *= dtype(2.0) ** (small + random.integers(-20, 20, 100).astype(dtype))
    c[300:400] = dtype(0)
    c[350:400] = a[350:400] * b[350:400]
    c[400:450] *= dtype(2.0) ** 60
    return a, b, c


@pytest.mark.parametrize(("dtype", "compute"), [(np.float32, fused_float32), (np.float64, fused_float64)])
def test_rounds_once(dtype, compute):
    """The result is the exact sum rounded once, at ties, under cancellation and in subnormals."""
    for seed in range(4):
        a, b, c = hard_factors(dtype, seed)
        with np.errstate(all="ignore"):
            out = compute(a, b, c)
        for x, y, z, got in zip(a, b, c, out, strict=True):
            exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            assert float(got) == nearest(exact, dtype), (x, y, z, got)


def test_specials():
    """Infinities and NaN follow IEEE."""
    specials = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e300])
    for compute, dtype in ((fused_float64, np.float64), (fused_float32, np.float32)):
        with np.errstate(all="ignore"):
            values = specials.astype(dtype)
            a, b, c = (axis.ravel() for axis in np.meshgrid(values, values, values))
            out, plain = compute(a, b, c), a * b + c
        for got, want, z in zip(out, plain, c, strict=True):
            if math.isnan(want) or (math.isinf(want) and math.isinf(z)):
                assert math.isnan(got) == math.isnan(want)
            elif want == 0:
                assert math.copysign(1, got) == math.copysign(1, want)


def run(kind, fma, dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randn(LANES, generator=generator).to(dtype) for _ in range(4)]
    out = torch.zeros(LANES, dtype=dtype)
    with Machine(fma=fma) as machine:
        kernels.contraction[(2,)](*inputs, out, 5, kind, LANES // 2)
    assert machine.hazards == []
    return inputs, out


def fused(x, y, z):
    """Rounds x * y + z once: float64 holds the product, and its sum lies on no tie here."""
    return (x.double() * y.double() + z.double()).float()


WITH = {
    "product_plus": lambda x, y, z, w: fused(x, y, z),
    "plus_product": lambda x, y, z, w: fused(x, y, z),
    "product_minus": lambda x, y, z, w: fused(x, y, -z),
    "minus_product": lambda x, y, z, w: fused(-x, y, z),
    "two_products": lambda x, y, z, w: fused(x, y, z * w),
    "difference_of_products": lambda x, y, z, w: fused(x, y, -(z * w)),
    "shared_product": lambda x, y, z, w: fused(x, y, z) * fused(x, y, w),
    "product_also_read": lambda x, y, z, w: fused(x, y, z) / (x * y),
    "chain": lambda x, y, z, w: fused(x * y, z, w),
    "sum_of_three": lambda x, y, z, w: fused(x, y, z) + w,
    "chosen": lambda x, y, z, w: torch.where(w > 0, x * y, z) + w,
    "clamped": lambda x, y, z, w: torch.maximum(x * y, z) + w,
    "product_before_loop": lambda x, y, z, w: x + x * y + x * y + x * y + x * y + x * y,
    "scalar_factor": lambda x, y, z, w: fused(x, torch.tensor(5.0), y),
    "scalar_product": lambda x, y, z, w: fused(y[0], z[0], x),
    "square_plus": lambda x, y, z, w: fused(x + y, x + y, w),
}
WITHOUT = {
    "product_plus": lambda x, y, z, w: x * y + z,
    "minus_product": lambda x, y, z, w: z - x * y,
    "two_products": lambda x, y, z, w: x * y + z * w,
    "shared_product": lambda x, y, z, w: (x * y + z) * (x * y + w),
    "scalar_product": lambda x, y, z, w: y[0] * z[0] + x,
}


@pytest.mark.parametrize("kind", WITH)
def test_contracted(kind):
    """Products fuse with sums as they do on an H200 (compared there bit for bit)."""
    inputs, out = run(kind, True)
    assert torch.equal(out, WITH[kind](*inputs))


@pytest.mark.parametrize("kind", WITHOUT)
def test_not_contracted(kind):
    """Without contraction each operation rounds."""
    inputs, out = run(kind, False)
    assert torch.equal(out, WITHOUT[kind](*inputs))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64], ids=str)
def test_other_types(kind, dtype):
    """Every form runs in every float type."""
    _, out = run(kind, True, dtype)
    assert out.isfinite().any()


@pytest.mark.parametrize("kernel", [kernels.outer_product, kernels.row_product])
def test_through_shapes(kernel):
    """A product fuses through splat, expand_dims and broadcast."""
    generator = torch.Generator().manual_seed(2)
    x, y = torch.randn(16, generator=generator), torch.randn(16, generator=generator)
    z, out = torch.randn(16, 16, generator=generator), torch.zeros(16, 16)
    with Machine():
        kernel[(1,)](x, y, z, out, 16, 16)
    other = y[None, :] if kernel is kernels.outer_product else y[:, None]
    assert torch.equal(out, fused(x[:, None], other, z))
