"""Operations on whole tiles against PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import triton

from properties.ttir import Machine

from . import tile_kernels as kernels

VERSION = tuple(int(number) for number in triton.__version__.split(".")[:2])
ROWS, COLUMNS, PROGRAMS = 4, 16, 3


def small(dtype=torch.float32, seed=0, shape=(PROGRAMS, ROWS, COLUMNS)):
    """Returns small integers, whose sums and products are exact in any order."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-4, 5, shape, generator=generator).to(dtype)


def launched(kernel, grid, *arguments, **constants):
    """Runs a launch and asserts that it shows no hazard."""
    with Machine() as machine:
        kernel[grid](*arguments, **constants)
    assert machine.hazards == [], "\n".join(map(str, machine.hazards))


def first_index(values, function):
    """Returns the first position of the extreme value, as tl.argmax promises on ties."""
    return (values == function(values, -1).values[..., None]).int().argmax(-1)


REDUCTIONS = {
    "sum_of": lambda x: x.sum(-1),
    "max_of": lambda x: x.max(-1).values,
    "min_of": lambda x: x.min(-1).values,
    "argmax_of": lambda x: first_index(x, torch.max).int(),
    "argmin_of": lambda x: first_index(x, torch.min).int(),
    "last_of": lambda x: x[..., -1],
    "product_of": lambda x: x.prod(-1),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.float16], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name, dtype):
    """A reduction combines every lane of its axis, in order."""
    x = small(dtype)
    if name == "product_of":
        x = x.clamp(-1, 1)  # products of larger numbers are not exact in every order
    want = REDUCTIONS[name](x)
    out = torch.zeros((PROGRAMS, ROWS), dtype=want.dtype)
    launched(kernels.rows, (PROGRAMS,), x, out, getattr(kernels, name), ROWS, COLUMNS)
    assert torch.equal(out, want.to(out.dtype))


def test_integer_reductions():
    """xor_sum combines bits."""
    x = small(torch.int32)
    out = torch.zeros((PROGRAMS, ROWS), dtype=torch.int32)
    launched(kernels.rows, (PROGRAMS,), x, out, kernels.xor_of, ROWS, COLUMNS)
    want = x[..., 0].clone()
    for column in range(1, COLUMNS):
        want ^= x[..., column]
    assert torch.equal(out, want)


SAME_SHAPE = {
    "running_sum": lambda x: x.cumsum(-1),
    "running_sum_down": lambda x: x.cumsum(-2),
    "running_product": lambda x: x.cumprod(-1),
    "running_sum_back": lambda x: x.flip(-1).cumsum(-1).flip(-1),
    "running_maximum": lambda x: x.cummax(-1).values,
    "flipped": lambda x: x.flip(-1),
    "sorted_rows": lambda x: x.sort(-1).values,
    "transposed_twice": lambda x: x + 1,
    "reshaped": lambda x: x * 2,
    "joined": lambda x: 2 * x + 1,
    "split_and_swapped": lambda x: x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32], ids=str)
@pytest.mark.parametrize("name", SAME_SHAPE)
def test_same_shape(name, dtype):
    """A scan, a sort or a rearrangement gives every lane its value."""
    x = small(dtype, seed=1)
    want = SAME_SHAPE[name](x).to(dtype)
    out = torch.zeros_like(x)
    launched(kernels.same_shape, (PROGRAMS,), x, out, getattr(kernels, name), ROWS, COLUMNS)
    assert torch.equal(out, want)


def test_gather():
    """tl.gather takes lanes along its axis."""
    x = small(shape=(ROWS, COLUMNS))
    index = torch.randint(0, COLUMNS, (ROWS, COLUMNS), dtype=torch.int32)
    out = torch.zeros_like(x)
    launched(kernels.gather_rows, (1,), x, index, out, ROWS, COLUMNS)
    assert torch.equal(out, x.gather(1, index.long()))


def test_cat():
    """tl.cat keeps every element."""
    x, y = torch.arange(16.0), torch.arange(16.0) + 100
    out = torch.zeros(32)
    launched(kernels.concatenate, (1,), x, y, out, 16)
    assert torch.equal(out.sort().values, torch.cat([x, y]))


def test_histogram():
    """tl.histogram counts each program's values."""
    x = torch.randint(0, 8, (PROGRAMS, 64), dtype=torch.int32)
    out = torch.zeros((PROGRAMS, 8), dtype=torch.int32)
    launched(kernels.count, (PROGRAMS,), x, out, 64, 8)
    assert torch.equal(out, torch.stack([row.bincount(minlength=8) for row in x]).int())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int8], ids=str)
def test_dot(dtype):
    """tl.dot of small integers is exact."""
    a, b = small(dtype, 2, (16, 32)), small(dtype, 3, (32, 16))
    out = torch.zeros((16, 16), dtype=torch.int32 if dtype == torch.int8 else torch.float32)
    launched(kernels.dot, (1,), a, b, out, 16, 16, 32, "ieee")
    assert torch.equal(out.double(), a.double() @ b.double())


def test_dot_precision():
    """tl.dot of arbitrary fp32 numbers is within one rounding; tf32 rounds its inputs to ten bits."""
    a, b = torch.randn(16, 32), torch.randn(32, 16)
    out = torch.zeros(16, 16)
    launched(kernels.dot, (1,), a, b, out, 16, 16, 32, "ieee")
    exact = a.double() @ b.double()
    assert torch.equal(out, exact.float())
    launched(kernels.dot, (1,), a, b, out, 16, 16, 32, "tf32")
    bound = (a.abs().double() @ b.abs().double()) * 2.0**-10 + 1e-6
    assert ((out - exact).abs() <= bound).all()
    assert not torch.equal(out, exact.float())


ATOMICS: dict[str, Callable] = {
    "add": lambda old, x: old + x,
    "max": max,
    "min": min,
    "and": lambda old, x: old & x,
    "or": lambda old, x: old | x,
    "xor": lambda old, x: old ^ x,
    "xchg": lambda old, x: x,
    "cas": lambda old, x: x + 1 if old == x else old,
}


# the language has no bitwise or compare atomics on floats
ATOMIC_CASES = [(kind, dtype) for kind in ATOMICS for dtype in (torch.int32, torch.int64)]
ATOMIC_CASES += [(kind, torch.float32) for kind in ("add", "max", "min", "xchg")]


@pytest.mark.parametrize(("kind", "dtype"), ATOMIC_CASES, ids=str)
def test_atomic(kind, dtype):
    """Atomics act lane after lane and return what each lane found; colliding lanes are no hazard."""
    x = small(dtype, 4, (2, 16)).contiguous()
    index = torch.randint(0, 5, (2, 16), dtype=torch.int32, generator=torch.Generator().manual_seed(5))
    table, old = small(dtype, 6, (5,)), torch.zeros((2, 16), dtype=dtype)
    want_table, want_old = table.tolist(), []
    for value, place in zip(x.flatten().tolist(), index.flatten().tolist(), strict=True):
        want_old.append(want_table[place])
        want_table[place] = ATOMICS[kind](want_table[place], value)
    launched(kernels.atomic, (2,), x, index, table, old, kind, 16)
    assert table.tolist() == want_table
    if not (dtype == torch.float32 and kind in ("max", "min")):
        # the language splits these into two atomics by sign, so what a lane finds is not one number
        assert old.flatten().tolist() == want_old


@pytest.mark.skipif(VERSION >= (3, 9), reason="Triton 3.9 removed block pointers from the language")
def test_block_pointer():
    """A block pointer reads zeros beyond its shape and writes nothing there."""
    x, y = torch.randn(40, 24), torch.full((40, 24), 7.0)
    launched(kernels.block_pointer_copy, (3, 2), x, y, 37, 20, 24, 16)
    assert torch.equal(y[:37, :20], 2 * x[:37, :20])
    assert (y[37:] == 7).all()
    assert (y[:, 20:] == 7).all()


@pytest.mark.parametrize("is_added", [False, True])
def test_descriptor(is_added):
    """A tensor descriptor reads zeros beyond its shape and writes nothing there."""
    x, y = torch.randn(40, 24), torch.full((40, 24), 7.0)
    before = y.clone()
    launched(kernels.descriptor_copy, (3, 2), x, y, 37, 20, 24, is_added, 16)
    assert torch.equal(y[:37, :20], before[:37, :20] + x[:37, :20] if is_added else 2 * x[:37, :20])
    assert torch.equal(y[37:], before[37:])
    assert torch.equal(y[:, 20:], before[:, 20:])
