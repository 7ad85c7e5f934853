"""Offsets beyond 2**31 elements, in memory of which only the touched pages exist."""

from __future__ import annotations

import mmap
import resource

import pytest
import torch
import triton
import triton.language as tl

from properties.ttir import Machine

FAR = 2**33
NO_RESERVE = 0x4000  # Linux's MAP_NORESERVE, which Python names from 3.11 on


@pytest.fixture
def memory():
    """Gives 16 GiB of address space as bfloat16."""
    space = mmap.mmap(-1, 2 * FAR, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
    return torch.frombuffer(space, dtype=torch.bfloat16)


@triton.jit
def move_pages(pages_ptr, table_ptr, stride, WIDE: tl.constexpr, D: tl.constexpr):
    program = tl.program_id(0)
    source, target = tl.load(table_ptr + 2 * program), tl.load(table_ptr + 2 * program + 1)
    if WIDE:
        source, target = source.to(tl.int64), target.to(tl.int64)
    column = tl.arange(0, D)
    page = tl.load(pages_ptr + source * stride + column)
    tl.store(pages_ptr + target * stride + column, page + 1)


def pages_of(memory, padding):
    stride = 2**20
    return memory.as_strided((FAR // stride, 64 - padding), (stride, 1))


@pytest.mark.parametrize("padding", [0, 16])
def test_far_pages(memory, padding):
    """A page beyond 2**31 elements is read and written, at the cost of the pages touched."""
    pages = pages_of(memory, padding)
    pages[5000] = 3.0
    table = torch.tensor([[5000, 8000], [1, 7000]], dtype=torch.int32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with Machine() as machine:
        move_pages[(2,)](pages, table, pages.stride(0), WIDE=True, D=32)
    assert machine.hazards == []
    assert (pages[8000, :32] == 4).all()
    assert (pages[7000, :32] == 1).all()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


def test_far_conflict(memory):
    """Two programs that write one far page are seen."""
    table = torch.tensor([[1, 8000], [2, 8000]], dtype=torch.int32)
    with Machine() as machine:
        move_pages[(2,)](pages_of(memory, 0), table, 2**20, WIDE=True, D=32)
    (hazard,) = machine.hazards
    assert (hazard.kind, hazard.index, hazard.count) == ("write/write conflict", (8000, 0), 32)


def test_narrow_offset_wraps(memory):
    """The same with 32-bit offsets is a wrapped index, told with its operands."""
    table = torch.tensor([[1, 8000]], dtype=torch.int32)
    with Machine() as machine:
        move_pages[(1,)](pages_of(memory, 0), table, 2**20, WIDE=False, D=32)
    assert {hazard.kind for hazard in machine.hazards} == {"wrapped index"}
    assert machine.hazards[0].operands == (("left", 8000), ("right", 2**20))


def test_gap_of_a_huge_page(memory):
    """The padding of a far page is outside of the tensor."""
    table = torch.tensor([[5000, 8000]], dtype=torch.int32)
    with Machine() as machine:
        move_pages[(1,)](pages_of(memory, 40), table, 2**20, WIDE=True, D=32)
    assert [hazard.kind for hazard in machine.hazards] == ["out-of-bounds read", "out-of-bounds write"]
    assert machine.hazards[0].count == 8
