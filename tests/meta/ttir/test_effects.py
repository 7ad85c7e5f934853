"""device_print, addresses as integers, libdevice, and programs that part ways."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from properties.ttir import Machine, Unsupported


@triton.jit
def printing(x_ptr):
    tl.device_print("value", tl.load(x_ptr + tl.program_id(0)))


@triton.jit
def address(x_ptr, out_ptr):
    tl.store(out_ptr + tl.program_id(0), (x_ptr + tl.program_id(0)).to(tl.int64))


@triton.jit
def follow(table_ptr, x_ptr, y_ptr, out_ptr):
    place = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + tl.program_id(0), tl.load(place))


@triton.jit
def library(x_ptr, out_ptr):
    offset = tl.arange(0, 8)
    x = tl.load(x_ptr + offset)
    tl.store(out_ptr + offset, libdevice.tanh(x) + libdevice.pow(x, x) + libdevice.trunc(x))


@triton.jit
def unknown_library(x_ptr):
    tl.store(x_ptr, libdevice.cyl_bessel_i0(tl.load(x_ptr)))


@triton.jit
def parting(x_ptr, out_ptr, n):
    program = tl.program_id(0)
    value = tl.load(x_ptr + program)
    result = 0
    if value > 2:
        for step in range(value):
            if step % 2 == 0:
                result += step
            else:
                result -= 1
    elif value == 2:
        result = 100
    for step in range(program, n, 2):
        result += step
    tl.store(out_ptr + program, result)


def test_print(capsys):
    """device_print writes what every program holds."""
    with Machine():
        printing[(3,)](torch.tensor([1.5, 2.5, 3.5]))
    assert capsys.readouterr().out == "printing value: [1.5 2.5 3.5]\n"


def test_address():
    """A pointer as an integer is the tensor's address."""
    x, out = torch.zeros(4), torch.zeros(4, dtype=torch.int64)
    with Machine() as machine:
        address[(4,)](x, out)
    assert machine.hazards == []
    assert out.tolist() == [x.data_ptr() + 4 * number for number in range(4)]


def test_table_of_pointers():
    """An address from memory leads back to the argument that it lies in, and to no other memory."""
    x, y, out = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.zeros(3)
    table = torch.tensor([y.data_ptr(), x.data_ptr() + 4, y.data_ptr() + 4])
    with Machine() as machine:
        follow[(3,)](table, x, y, out)
    assert machine.hazards == []
    assert out.tolist() == [3, 2, 4]
    with pytest.raises(Unsupported, match="outside of every argument"), Machine():
        follow[(3,)](table + 64 * 1024, x, y, out)


def test_library():
    """Known libdevice functions are computed, an unknown one is named."""
    x, out = torch.rand(8) + 1, torch.zeros(8)
    with Machine() as machine:
        library[(1,)](x, out)
    assert machine.hazards == []
    assert torch.allclose(out, x.tanh() + x**x + x.trunc(), rtol=1e-6)
    with pytest.raises(Unsupported, match=r"\(__nv_cyl_bessel_i0f\) in kernel unknown_library"), Machine():
        unknown_library[(1,)](x)


def test_parting():
    """Programs that take different branches and different numbers of rounds keep their own values."""
    x = torch.tensor([0, 2, 5, 3, 7, 1], dtype=torch.int32)
    out = torch.zeros(6, dtype=torch.int32)
    with Machine() as machine:
        parting[(6,)](x, out, 9)
    assert machine.hazards == []
    for program, value in enumerate(x.tolist()):
        want = 100 if value == 2 else sum(s if s % 2 == 0 else -1 for s in range(value)) if value > 2 else 0
        assert out[program] == want + sum(range(program, 9, 2))
