"""The bound holds for every order of summation, and is tight enough to see small faults."""

from __future__ import annotations

import itertools

import pytest
import torch

from properties.bounds import allowed_error, half_ulp, may_overflow
from properties.contract import DTYPES
from reference.dense import dense_conv


@pytest.mark.parametrize(
    ("magnitude", "dtype", "wanted"),
    [
        (1.0, torch.bfloat16, 2.0**-8),
        (1.99, torch.bfloat16, 2.0**-8),
        (2.0, torch.bfloat16, 2.0**-7),
        (1.0, torch.float16, 2.0**-11),
        (0.0, torch.float16, 2.0**-25),
        (2.0**-20, torch.float16, 2.0**-25),
        (1.0, torch.float32, 2.0**-24),
        (0.0, torch.bfloat16, 2.0**-134),
        (0.0, torch.float32, 2.0**-150),
    ],
)
def test_half_ulp_by_hand(magnitude, dtype, wanted):
    """Gives half the spacing of the dtype, subnormals included."""
    assert half_ulp(torch.tensor([magnitude], dtype=torch.float64), dtype).item() == wanted


def drawn(dtype, C=4096, W=4, scale=1.0):
    """Inputs, weights, and what the bound needs of them."""
    torch.manual_seed(7)
    inputs = (torch.randn(W, C) * scale).to(dtype)
    weight = torch.randn(C, W).to(dtype)
    return inputs, weight


@pytest.mark.parametrize("activation", [None, "silu"])
@pytest.mark.parametrize("use_residual", [True, False])
@pytest.mark.parametrize("name", DTYPES)
def test_every_order_stays_within(name, activation, use_residual):
    """Sums the products in all 24 orders in fp32, rounds once, and never leaves the bound."""
    dtype = DTYPES[name]
    inputs, weight = drawn(dtype)
    truth = dense_conv(inputs, weight, activation, use_residual)[-1]
    magnitude = dense_conv(inputs.abs(), weight.abs(), None, False)[-1]
    x = inputs[-1].double()
    allowed = allowed_error(truth, magnitude, x, 4, dtype, activation, use_residual)
    products = inputs.float() * weight.float().T
    for order in itertools.permutations(range(4)):
        total = torch.zeros_like(products[0])
        for tap in order:
            total = total + products[tap]
        if activation:
            total = total * torch.sigmoid(total)
        if use_residual:
            total = total + inputs[-1].float()
        assert ((total.to(dtype).double() - truth).abs() <= allowed).all()


@pytest.mark.parametrize(("name", "fault"), [("fp32", 1 + 2**-19), ("fp16", 1 + 2**-9), ("bf16", 1 + 2**-6)])
def test_a_scaled_result_leaves_the_bound(name, fault):
    """Sees a result scaled by little more than the dtype's own precision."""
    dtype = DTYPES[name]
    inputs, weight = drawn(dtype)
    truth = dense_conv(inputs, weight, None, True)[-1]
    magnitude = dense_conv(inputs.abs(), weight.abs(), None, False)[-1]
    allowed = allowed_error(truth, magnitude, inputs[-1].double(), 4, dtype, None, True)
    assert (((truth * fault).to(dtype).double() - truth).abs() > allowed).any()


def test_a_truncated_result_leaves_the_bound():
    """Sees truncation to bf16 in place of rounding."""
    inputs, weight = drawn(torch.bfloat16)
    truth = dense_conv(inputs, weight, None, True)[-1]
    magnitude = dense_conv(inputs.abs(), weight.abs(), None, False)[-1]
    allowed = allowed_error(truth, magnitude, inputs[-1].double(), 4, torch.bfloat16, None, True)
    truncated = (truth.float().view(torch.int32) & -65536).view(torch.float32)
    assert ((truncated.double() - truth).abs() > allowed).any()


@pytest.mark.parametrize(("sum_", "is_allowed"), [(65504.0, False), (65519.0, False), (65520.0, True), (70000.0, True)])
def test_overflow_begins_half_an_ulp_above_the_largest_number(sum_, is_allowed):
    """Allows infinity to a kernel exactly where rounding to nearest gives it, for sums without an error."""
    exact = torch.tensor([sum_], dtype=torch.float64)
    assert torch.tensor(sum_).to(torch.float16).isinf().item() is is_allowed
    assert may_overflow(exact, half_ulp(exact, torch.float16), torch.float16).item() is is_allowed
