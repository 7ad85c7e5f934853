"""What launches with equal scalars have in common is computed once, and never mistaken."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from properties.ttir import Machine

from . import hazard_kernels


@triton.jit
def shifted_copy(x_ptr, out_ptr, n, shift, scale, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    source = offset + shift
    x = tl.load(x_ptr + source, mask=(source >= 0) & (source < n), other=0.0)
    tl.store(out_ptr + offset, x * scale, mask=offset < n)


def run(x, shift, scale, grid):
    out = torch.zeros_like(x)
    with Machine() as machine:
        shifted_copy[(grid,)](x, out, len(x), shift, scale, BLOCK=16)
    assert machine.hazards == []
    return out


def test_other_tensors_and_scalars():
    """Other tensors, scalars, signs of zero and grids give their own results, in any order."""
    for _ in range(2):
        for length in (20, 31):
            for shift in (0, 1, -1):
                for scale in (1.0, 0.0, -0.0, 2.0):
                    x = torch.randn(length)
                    want = torch.zeros(length)
                    if shift >= 0:
                        want[: length - shift] = x[shift:]
                    else:
                        want[-shift:] = x[:shift]
                    out = run(x, shift, scale, 2)
                    assert torch.equal(out, want * scale)
                    assert torch.equal(torch.signbit(out), torch.signbit(want * scale))
    assert (run(torch.ones(31), 0, 1.0, 1)[16:] == 0).all()


def test_hazard_of_the_prologue_is_told_every_time():
    """An index that wraps on its way from scalars to an address is told in each launch."""
    for _ in range(3):
        with Machine() as machine:
            arguments = torch.zeros(24), torch.zeros(1), 1 << 20, 1 << 12
            hazard_kernels.narrow_product[(1,)](*arguments, HAS=True)
        assert [hazard.kind for hazard in machine.hazards] == ["wrapped index"]


def test_bounds_follow_the_tensor():
    """A remembered address is checked against the tensor of this launch."""
    x = torch.zeros(8)
    for length, count in ((8, 0), (5, 1), (8, 0), (3, 1)):
        with Machine() as machine:
            hazard_kernels.read_outside[(1,)](x[:length], torch.zeros(8), 8, HAS=True)
        assert len(machine.hazards) == count
