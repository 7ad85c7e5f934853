"""Order within and between programs, memory that torch writes in part, locks, descriptors made on the host."""

from __future__ import annotations

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from properties.ttir import Machine

from . import hazard_kernels, ordering_kernels
from .test_hazards import marked_line


def integers(count):
    return torch.zeros(count, dtype=torch.int32)


# kernel: programs, arguments, kind of hazard
CASES = {
    "plain_by_the_last": (3, lambda: (integers(1), integers(3)), "atomic conflict"),
    "barrier_of_some": (2, lambda: (integers(16), integers(16)), "read after write"),
    "read_back_then_stored_again": (1, lambda: (integers(8), integers(8)), "read after write"),
    "read_of_own_atomic": (1, lambda: (integers(8), integers(8)), "atomic conflict"),
    "store_before_own_atomic": (1, lambda: (integers(8), integers(8)), "atomic conflict"),
    "first_and_last_are_one": (2, lambda: (integers(1), integers(2)), "atomic conflict"),
    "masked_after_division": (1, lambda: (integers(8), integers(8), 1 << 30), "wrapped index"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("has_it", [True, False])
def test_order(name, has_it):
    """Tells the hazard, once, by its line; the near miss is clean."""
    programs, arguments, kind = CASES[name]
    kernel = getattr(ordering_kernels, name)
    with Machine() as machine:
        kernel[(programs,)](*arguments(), HAS=has_it)
    told = [(hazard.kind, (hazard.line, hazard.source)) for hazard in machine.hazards]
    assert told == ([(kind, marked_line(kernel))] if has_it else [])


def test_only_the_program_without_barrier_is_named():
    """Counts barriers for each program."""
    with Machine() as machine:
        ordering_kernels.barrier_of_some[(2,)](integers(16), integers(16), HAS=True)
    assert {program for hazard in machine.hazards for program in hazard.programs} == {(0, 0, 0)}


def test_lock():
    """Runs the programs of a kernel with a lock one after another; in lockstep none but the first would ever get it."""
    lock, total = integers(1), integers(1)
    with Machine(loop_limit=100) as machine:
        ordering_kernels.locked[(5,)](lock, total)
    assert (machine.hazards, int(total)) == ([], 10)


def test_endless_loop_names_its_programs():
    """Names the programs that the loop does not let go, not those that left it."""
    with Machine(loop_limit=50) as machine:
        ordering_kernels.never_for_some[(4,)](integers(4), 6)
    (hazard,) = machine.hazards
    assert (hazard.kind, hazard.programs, hazard.count) == ("loop that does not end", ((1, 0, 0), (3, 0, 0)), 2)


def unwritten(make):
    """Returns how many elements of what `make` returns count as never written."""
    with Machine() as machine:
        hazard = machine.unwritten(make())
    return 0 if hazard is None else hazard.count


def test_torch_writes_in_part():
    """What torch writes through a view is written, the rest of the storage is not."""

    def some():
        tensor = torch.empty(4, 6)
        tensor[1:, :2].fill_(1.0)
        tensor[0, 3] = 2.0
        return tensor

    assert unwritten(some) == 24 - 7
    assert unwritten(lambda: some().clone()) == 17
    assert unwritten(lambda: some()[:, :3].contiguous()) == 12 - 6
    assert unwritten(lambda: some().double()) == 17
    assert unwritten(lambda: torch.empty(4, 6).copy_(some())) == 17
    assert unwritten(lambda: torch.empty(4, 6).copy_(torch.zeros(6))) == 0
    assert unwritten(lambda: some().fill_(0)) == 0
    assert unwritten(lambda: some() + 1) == 0


def test_copy_of_a_half_written_output():
    """A launch that reads the copy reads memory never written."""
    with Machine() as machine:
        half = torch.empty(8)
        hazard_kernels.half_written[(1,)](half, 5)
        hazard_kernels.copy[(1,)](half.clone(), torch.zeros(8))
    (hazard,) = machine.hazards
    assert (hazard.kind, hazard.count) == ("memory never written", 3)


@pytest.mark.parametrize("shift", [0, 1])
def test_descriptor_made_on_the_host(shift):
    """Reads and writes through it, and tells blocks that overlap, by the descriptor's name."""
    source, target = torch.arange(64.0).reshape(8, 8), torch.zeros(8, 8)
    made = [TensorDescriptor.from_tensor(tensor, [4, 8]) for tensor in (source, target)]
    with Machine() as machine:
        ordering_kernels.through_descriptor[(2,)](*made, SHIFT=shift)
    told = [(hazard.kind, hazard.tensor, hazard.count) for hazard in machine.hazards]
    assert told == ([("write/write conflict", "target", 8)] if shift else [])
    assert torch.equal(target[: 8 - shift], source[: 8 - shift] * 2)
