"""Every conversion between element types against PyTorch."""

from __future__ import annotations

import math

import pytest
import torch
import triton.language as tl

from properties.ttir import Machine

from . import elementwise_kernels as kernels
from .inputs import BLOCK, floats, integers, same_bits

FLOATS = {
    torch.float32: tl.float32,
    torch.float16: tl.float16,
    torch.bfloat16: tl.bfloat16,
    torch.float64: tl.float64,
}
SMALL = {torch.float8_e4m3fn: tl.float8e4nv, torch.float8_e5m2: tl.float8e5}
INTEGERS = {torch.int8: tl.int8, torch.int16: tl.int16, torch.int32: tl.int32, torch.int64: tl.int64}


def cast(x, target, out_dtype, rounding=""):
    """Runs one conversion and asserts that it is no hazard."""
    out = torch.zeros(len(x), dtype=out_dtype)
    with Machine() as machine:
        kernels.cast_tile[(len(x) // BLOCK,)](x, out, target, rounding, BLOCK)
    assert machine.hazards == []
    return out


@pytest.mark.parametrize("source", FLOATS, ids=str)
@pytest.mark.parametrize("target", FLOATS, ids=str)
def test_between_floats(source, target):
    """A float narrows to the nearest value, ties to even, and widens exactly."""
    x, _ = floats(source, 11)
    assert same_bits(cast(x, FLOATS[target], target), x.to(target)).all()


@pytest.mark.parametrize("target", SMALL, ids=str)
@pytest.mark.parametrize("source", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_to_small_float(source, target):
    """An eight-bit float takes the nearest value; beyond its largest it saturates."""
    x, _ = floats(source, 12)
    largest = torch.finfo(target).max
    want = torch.where(x.isnan(), x, x.float().clamp(-largest, largest).to(source)).to(target)
    got = cast(x, SMALL[target], target)
    assert same_bits(got.float(), want.float()).all()


@pytest.mark.parametrize("source", SMALL, ids=str)
def test_from_small_float(source):
    """All 256 patterns of an eight-bit float widen exactly."""
    x = torch.arange(256, dtype=torch.uint8).repeat(4).view(source)
    assert same_bits(cast(x, tl.float32, torch.float32), x.float()).all()


@pytest.mark.parametrize("target", [torch.float16, torch.bfloat16], ids=str)
def test_toward_zero(target):
    """Rounding toward zero never grows a magnitude, and loses less than one step."""
    x, _ = floats(torch.float32, 13)
    got = cast(x, FLOATS[target], target, "rtz")
    finite = x.isfinite()
    wide, exact = got[finite].double(), x[finite].double()
    assert (wide.abs() <= exact.abs()).all()
    nearest = x[finite].to(target)
    is_nearest = nearest.double().abs() <= exact.abs()
    assert torch.equal(wide[is_nearest], nearest[is_nearest].double())


@pytest.mark.parametrize("source", INTEGERS, ids=str)
@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_between_integers(source, target):
    """Integers sign-extend and truncate."""
    x, _ = integers(source, 14)
    assert torch.equal(cast(x, INTEGERS[target], target), x.to(target))


@pytest.mark.parametrize("source", INTEGERS, ids=str)
@pytest.mark.parametrize("target", FLOATS, ids=str)
def test_integer_to_float(source, target):
    """An integer rounds once to the nearest float."""
    x, _ = integers(source, 15)
    if target in (torch.float16, torch.bfloat16) and source in (torch.int32, torch.int64):
        # PyTorch goes through float32 and rounds twice; small numbers are exact there
        x = x % 251
    assert same_bits(cast(x, FLOATS[target], target), x.to(target)).all()


@pytest.mark.parametrize("source", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("target", [torch.int32, torch.int64, torch.int8], ids=str)
def test_float_to_integer(source, target):
    """A float loses its fraction; out of range it saturates, in at least 16 bits, as an H200 does."""
    x, _ = floats(source, 16)
    bits = max(torch.iinfo(target).bits, 16)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    got = cast(x, INTEGERS[target], target)
    for value, number in zip(x.double().tolist(), got.tolist(), strict=True):
        if math.isnan(value):
            is_narrow = source != torch.float64 and bits < 64
            want = 0 if is_narrow else low
        else:
            want = int(min(max(value, low), high))
        modulus = 2 ** torch.iinfo(target).bits
        assert number == (min(max(want, low), high) + modulus // 2) % modulus - modulus // 2


def test_bool_round_trip():
    """Booleans load as numbers and store as booleans."""
    x = torch.arange(2 * BLOCK) % 3 == 0
    assert torch.equal(cast(x, tl.int1, torch.bool), x)
    assert torch.equal(cast(x, tl.float32, torch.float32), x.float())
