"""Bounds: how far a correct kernel's output may lie from the exact value, per element, and why."""

from __future__ import annotations

import torch

UNIT = 2.0**-24  # u: relative rounding error of one fp32 operation, round to nearest
TINY = 2.0**-149  # spacing of fp32 subnormals: the absolute error of a product that underflows
SMALLEST_NORMAL = 2.0**-126
# Significand bits and exponent of the smallest normal number, of the dtype that is stored.
_FORMATS = {torch.bfloat16: (8, -126), torch.float16: (11, -14), torch.float32: (24, -126)}


def half_ulp(magnitude: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Half the spacing of `dtype` at `magnitude` (float64, at least 0); that of subnormals below the normals."""
    precision, least = _FORMATS[dtype]
    _, exponent = torch.frexp(magnitude)  # magnitude = f * 2**exponent with f in [0.5, 1)
    exponent = torch.where(magnitude > 0, exponent - 1, least).clamp_min(least)
    return torch.ldexp(torch.ones_like(magnitude), exponent - precision)


def may_overflow(exact: torch.Tensor, allowed: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Whether a correct kernel may round to infinity, elementwise: from half an ulp above the largest number on.

    allowed: what allowed_error gives, so half an ulp more than what precedes the rounding.
    """
    largest = torch.tensor(torch.finfo(dtype).max, dtype=torch.float64)
    return exact.abs() + allowed >= largest + 2 * half_ulp(largest, dtype)


def allowed_error(
    exact: torch.Tensor,
    magnitude: torch.Tensor,
    x: torch.Tensor,
    W: int,
    dtype: torch.dtype,
    activation: str | None,
    use_residual: bool,
) -> torch.Tensor:
    """The largest |out - exact| of any correct kernel, elementwise, float64.

    exact: the float64 reference, residual included. magnitude: sum over taps of |w_k x_k|, float64.

    Fp32 accumulation of W products in any contraction errs by at most gamma(W + 2) * magnitude, with
    gamma(n) = n u / (1 - n u) (Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1); two
    of the W + 2 roundings are the residual's addition and a product's. The residual's own share is
    u |x|. SiLU has |silu'| < 1.1; its exponential errs relatively by at most (2 |s| + 4) u for the
    product with log2(e) and a few ulps of the hardware's ex2, the division and product by 4 u more.
    One rounding to `dtype` adds half an ulp at the far end.
    """
    n = (W + 2) * UNIT
    error = n / (1 - n) * magnitude + (W + 2) * TINY
    if activation is not None:
        value = exact - x if use_residual else exact
        # |s| <= magnitude, and exp overflows below s = -88: what is left there is under 128 smallest normals
        error = 1.1 * error + value.abs() * UNIT * (8 + 2 * magnitude) + 128 * SMALLEST_NORMAL
    if use_residual:
        error = error + UNIT * x.abs()
    return error + half_ulp(exact.abs() + error, dtype)
