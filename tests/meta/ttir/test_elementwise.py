"""Every elementwise operation against PyTorch, special values included."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import triton

from properties.ttir import Machine

from . import elementwise_kernels as kernels
from .inputs import BLOCK, floats, integers, same_bits

VERSION = tuple(int(number) for number in triton.__version__.split(".")[:2])
FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]


def _rounded(function):
    """Computes in float64 and rounds once, which is what a correct float operation does."""

    def compute(*values):
        return function(*(value.double() for value in values)).to(values[0].dtype)

    return compute


def _number(function, other):
    """Gives a NaN-losing maximum or minimum the sign rule of the GPU: +0 is larger than -0."""

    def compute(x, y):
        zeros = (x == 0) & (y == 0)
        return torch.where(zeros, other(x, y), function(x, y))

    return compute


def _propagating(function, other):
    return _number(function, other)


UNARY = {
    # until 3.7 the language itself turned -x into 0 - x, which loses the sign of zero
    "negate": torch.neg if VERSION >= (3, 8) else lambda x: 0 - x if x.dtype != torch.float64 else -x,
    "absolute": torch.abs,
    "floor": torch.floor,
    "ceiling": torch.ceil,
    "root": _rounded(torch.sqrt),
    "precise_root": _rounded(torch.sqrt),
    "reciprocal_root": _rounded(torch.rsqrt),
    "exponential": _rounded(torch.exp),
    "exponential_2": _rounded(torch.exp2),
    "logarithm": _rounded(torch.log),
    "logarithm_2": _rounded(torch.log2),
    "sine": _rounded(torch.sin),
    "cosine": _rounded(torch.cos),
    "error_function": _rounded(torch.erf),
}
ONLY_WIDE = {"root", "precise_root", "reciprocal_root", "exponential", "exponential_2", "logarithm"}
ONLY_WIDE |= {"logarithm_2", "sine", "cosine", "error_function", "floor", "ceiling"}
ONLY_32 = {"precise_root"}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    """A unary float operation gives the correctly rounded result."""
    if dtype in (torch.float16, torch.bfloat16) and name in ONLY_WIDE:
        dtype = torch.float32  # the language defines these for fp32 and fp64 only
    if name in ONLY_32:
        dtype = torch.float32
    x, _ = floats(dtype, 1)
    out = torch.zeros_like(x)
    with Machine() as machine:
        kernels.unary_tile[(len(x) // BLOCK,)](x, out, getattr(kernels, name), BLOCK)
    assert machine.hazards == []
    wrong = ~same_bits(out, UNARY[name](x))
    if name in ("sine", "cosine", "error_function") and dtype == torch.float32:
        # NumPy's and PyTorch's float64 functions may differ in the last bit, which shows at ties of float32
        assert int(wrong.sum()) <= 2
        return
    if dtype == torch.float64:
        wrong &= ~torch.isclose(out, UNARY[name](x), rtol=2**-51, atol=0.0)  # two libraries' last bits
    assert not wrong.any(), (x[wrong][:4], out[wrong][:4], UNARY[name](x)[wrong][:4])


BINARY = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "maximum": _number(torch.fmax, lambda x, y: x + y),
    "minimum": _number(torch.fmin, lambda x, y: -((-x) + (-y))),
    "maximum_nan": _propagating(torch.maximum, lambda x, y: x + y),
    "minimum_nan": _propagating(torch.minimum, lambda x, y: -((-x) + (-y))),
    "choose": lambda x, y: torch.where(x < y, x, y),
    "less": torch.lt,
    "less_equal": torch.le,
    "equal": torch.eq,
    "unequal": torch.ne,
    "greater": torch.gt,
    "greater_equal": torch.ge,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype):
    """A binary float operation rounds once, and treats NaN, infinities and signed zeros as IEEE does."""
    x, y = floats(dtype, 2)
    want = BINARY[name](x, y)
    out = torch.zeros_like(want)
    with Machine() as machine:
        kernels.binary_tile[(len(x) // BLOCK,)](x, y, out, getattr(kernels, name), BLOCK)
    assert machine.hazards == []
    wrong = ~same_bits(out, want)
    assert not wrong.any(), (x[wrong][:4], y[wrong][:4], out[wrong][:4], want[wrong][:4])


@pytest.mark.parametrize("name", ["divide", "precise_divide", "remainder"])
def test_float_division(name):
    """Float division rounds once; the remainder has the sign of the dividend."""
    x, y = floats(torch.float32, 3)
    out = torch.zeros_like(x)
    with Machine() as machine:
        kernels.binary_tile[(len(x) // BLOCK,)](x, y, out, getattr(kernels, name), BLOCK)
    assert machine.hazards == []
    if name != "remainder":
        assert same_bits(out, x / y).all()
        return
    for a, b, got in zip(x.tolist(), y.tolist(), out.tolist(), strict=True):
        # PyTorch's vectorised fmod gives NaN where the quotient overflows; C's is exact
        is_number = math.isfinite(a) and b != 0 and not math.isnan(b)
        assert got == math.fmod(a, b) if is_number else math.isnan(got)


INTEGER_BINARY: dict[str, Callable] = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "bit_and": torch.bitwise_and,
    "bit_or": torch.bitwise_or,
    "bit_xor": torch.bitwise_xor,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "less": torch.lt,
    "greater_equal": torch.ge,
    "choose": lambda x, y: torch.where(x < y, x, y),
}


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_integer(name, dtype):
    """Integer operations wrap as in hardware, and wrapping that reaches no address is no hazard."""
    x, y = integers(dtype, 4)
    want = INTEGER_BINARY[name](x, y)
    out = torch.zeros_like(want)
    with Machine() as machine:
        kernels.binary_tile[(len(x) // BLOCK,)](x, y, out, getattr(kernels, name), BLOCK)
    assert machine.hazards == []
    assert torch.equal(out, want)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("name", ["quotient", "remainder"])
def test_integer_division(name, dtype):
    """Integer division rounds toward zero, and the remainder has the sign of the dividend."""
    x, y = integers(dtype, 5)
    y[(y == 0) | (y == -1)] = 3
    out = torch.zeros_like(x)
    with Machine() as machine:
        kernels.binary_tile[(len(x) // BLOCK,)](x, y, out, getattr(kernels, name), BLOCK)
    want = torch.div(x, y, rounding_mode="trunc") if name == "quotient" else torch.fmod(x, y)
    assert machine.hazards == []
    assert torch.equal(out, want)


@pytest.mark.parametrize("name", ["quotient", "remainder", "less", "greater", "maximum", "shift_right"])
def test_unsigned(name):
    """Unsigned operations treat the sign bit as a digit."""
    x, y = integers(torch.int32, 6)
    y[y == 0] = 3
    if name == "shift_right":
        y = y.abs() % 32
    expected: dict[str, Callable] = {
        "quotient": lambda a, b: a // b,
        "remainder": lambda a, b: a % b,
        "less": torch.lt,
        "greater": torch.gt,
        "maximum": torch.maximum,
        "shift_right": lambda a, b: a >> b,
    }
    want = expected[name](x.long() & 0xFFFFFFFF, y.long() & 0xFFFFFFFF)
    unsigned = torch.uint32
    out = torch.zeros(len(x), dtype=torch.bool if want.dtype == torch.bool else unsigned)
    with Machine() as machine:
        kernels.binary_tile[(len(x) // BLOCK,)](x.view(unsigned), y.view(unsigned), out, getattr(kernels, name), BLOCK)
    assert machine.hazards == []
    assert torch.equal(out.long(), want.long())


@pytest.mark.parametrize("name", ["shift_left", "shift_right"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_shift(name, dtype):
    """Shifts within the width match PyTorch."""
    x, y = integers(dtype, 7)
    y = (y & (31 if dtype == torch.int32 else 63)).to(dtype)
    out = torch.zeros_like(x)
    with Machine() as machine:
        kernels.binary_tile[(len(x) // BLOCK,)](x, y, out, getattr(kernels, name), BLOCK)
    assert machine.hazards == []
    assert torch.equal(out, x << y if name == "shift_left" else x >> y)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_high_product(dtype):
    """umulhi gives the upper half of the unsigned product."""
    x, y = integers(dtype, 8)
    out = torch.zeros_like(x)
    with Machine():
        kernels.binary_tile[(len(x) // BLOCK,)](x, y, out, kernels.high_product, BLOCK)
    bits = torch.iinfo(dtype).bits
    modulus = 2**bits
    for one, other, got in zip(x.tolist(), y.tolist(), out.tolist(), strict=True):
        assert got % modulus == ((one % modulus) * (other % modulus)) >> bits
