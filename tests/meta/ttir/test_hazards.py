"""Every kind of hazard: a kernel that has it is told by its line, and a near miss is not."""

from __future__ import annotations

import inspect

import pytest
import torch

from properties.ttir import Machine

from . import hazard_kernels as kernels

EIGHT = torch.arange(8)


def floats(*shape):
    return torch.zeros(*shape)


def padded():
    return torch.zeros(4, 6)[:, :4]


# kernel, grid, arguments, kind of hazard
CASES = {
    "read_outside": ((1,), lambda: (floats(5), floats(8), 5), "out-of-bounds read"),
    "read_outside_of_view": ((1,), lambda: (floats(9)[:5], floats(8), 5), "out-of-bounds read"),
    "read_before": ((1,), lambda: (floats(9)[1:], floats(8), 8), "out-of-bounds read"),
    "read_gap": ((1,), lambda: (padded(), floats(4), 6), "out-of-bounds read"),
    "write_outside": ((1,), lambda: (floats(5), 5), "out-of-bounds write"),
    "overlapping_tiles": ((3,), lambda: (EIGHT.repeat(2).int(), False), "write/write conflict"),
    "overlapping_tiles_differ": ((3,), lambda: (EIGHT.repeat(2).int(), True), "write/write conflict"),
    "read_of_neighbour": ((2,), lambda: (floats(8), floats(8)), "read/write conflict"),
    "read_back": ((1,), lambda: (floats(8), floats(8)), "read after write"),
    "two_lanes": ((1,), lambda: (EIGHT.int(),), "duplicate lanes"),
    "stored_twice": ((1,), lambda: (floats(8),), "stored twice"),
    "atomic_and_plain": ((3,), lambda: (floats(1),), "atomic conflict"),
    "unmasked_other_to_store": ((1,), lambda: (floats(8), floats(8), 5), "masked-off lane without other"),
    "unmasked_other_to_sum": ((1,), lambda: (floats(8), floats(8), 5), "masked-off lane without other"),
    "unmasked_other_to_address": (
        (1,), lambda: (EIGHT.clone(), floats(8), floats(8), 5), "masked-off lane without other",
    ),
    "unmasked_other_to_mask": ((1,), lambda: (EIGHT.clone(), floats(8), 5), "masked-off lane without other"),
    "unmasked_other_to_branch": ((8,), lambda: (EIGHT.clone(), floats(8), 5), "masked-off lane without other"),
    "narrow_product": ((1,), lambda: (floats(24), floats(1), 1 << 20, 1 << 12), "wrapped index"),
    "wide_product": ((1,), lambda: (floats(24), floats(1), (1 << 33) + 1), "wrapped index"),
    "unsigned_product": ((1,), lambda: (floats(8), floats(1), 1 << 20, 1 << 12), "wrapped index"),
    "divided": ((1,), lambda: (EIGHT.int(), EIGHT.int(), 0), "division by zero"),
    "left_over": ((1,), lambda: (EIGHT.int(), EIGHT.int(), 0), "division by zero"),
    "shifted": ((1,), lambda: (EIGHT.int(), EIGHT.int(), 0), "shift past the width"),
    "lowest_by_minus_one": ((1,), lambda: (EIGHT.int(), EIGHT.int(), 1), "signed minimum divided by -1"),
    "asserted": ((1,), lambda: (EIGHT.int(), EIGHT.int(), 8), "failed device_assert"),
    "endless": ((1,), lambda: (EIGHT.int(), 7), "loop that does not end"),
    "gathered": ((1,), lambda: (floats(8), EIGHT.int() + 1, floats(8)), "gather index outside"),
}  # fmt: skip


def kernel_of(name):
    """Finds the kernel of a case: the longest kernel's name that starts it."""
    return getattr(kernels, max((key for key in vars(kernels) if name.startswith(key)), key=len))


def marked_line(kernel):
    """Returns number and text of the line marked `# here`."""
    lines, first = inspect.getsourcelines(kernel.fn)
    for number, line in enumerate(lines):
        if line.rstrip().endswith("# here"):
            return first + number, line.strip()
    raise AssertionError(f"no line of {kernel} is marked")


def seen(name, has_it):
    grid, arguments, _ = CASES[name]
    with Machine(loop_limit=1000) as machine:
        kernel_of(name)[grid](*arguments(), HAS=has_it)
    return machine.hazards


@pytest.mark.parametrize("name", CASES)
def test_hazard(name):
    """A planted hazard is seen once, as its kind, with the number and text of its line."""
    hazards = seen(name, True)
    assert {hazard.kind for hazard in hazards} == {CASES[name][2]}, "\n".join(map(str, hazards))
    line, text = marked_line(kernel_of(name))
    assert [(hazard.line, hazard.source) for hazard in hazards] == [(line, text)]
    assert hazards[0].file == kernels.__file__
    assert CASES[name][2] in str(hazards[0])


@pytest.mark.parametrize("name", CASES)
def test_near_miss(name):
    """The same kernel without its fault shows nothing."""
    assert seen(name, False) == []


def test_hash_is_no_hazard():
    """An unsigned product that wraps on its way into a remainder is how hashes are written."""
    with Machine() as machine:
        kernels.hashed[(1,)](floats(8), floats(1), 12345, HAS=False)
    assert machine.hazards == []


def test_place_of_an_access():
    """A hazard names tensor, index, program and lanes."""
    with Machine() as machine:
        kernels.overlapping_tiles[(3,)](torch.zeros(4, 4, dtype=torch.int32), True, HAS=True)
    (hazard,) = machine.hazards
    assert hazard.tensor == "out_ptr"
    assert hazard.index == (0, 3)
    assert hazard.programs == ((0, 0, 0), (1, 0, 0))
    assert hazard.lanes == ((3,), (0,))
    assert hazard.count == 2
    assert "different values" in hazard.note


def test_index_outside_of_the_shape():
    """An offset that no index reaches is told as an element."""
    with Machine() as machine:
        kernels.read_gap[(1,)](padded(), floats(4), 6, HAS=True)
    assert machine.hazards[0].index == ("element", 4)
    assert machine.hazards[0].count == 4


def test_wrap_tells_its_operands():
    """A wrapped product names both factors."""
    with Machine() as machine:
        kernels.narrow_product[(1,)](floats(24), floats(1), 1 << 20, 1 << 12, HAS=True)
    assert machine.hazards[0].operands == (("left", 1 << 12), ("right", 1 << 20))


def test_fresh_memory():
    """Memory from torch.empty is undefined until something writes it."""
    with Machine() as machine:
        kernels.copy[(1,)](torch.empty(8), floats(8))
    assert [hazard.kind for hazard in machine.hazards] == ["memory never written"]
    with Machine() as machine:
        middle = torch.empty(8)
        kernels.copy[(1,)](floats(8), middle)
        kernels.copy[(1,)](middle, floats(8))
        by_torch = torch.empty(8)
        by_torch.fill_(1.0)
        kernels.copy[(1,)](by_torch, floats(8))
        by_numpy = torch.empty(8)
        by_numpy.numpy()[:] = 1.0
        kernels.copy[(1,)](by_numpy, floats(8))
    assert machine.hazards == []


def test_unwritten_output():
    """An output that a launch leaves partly unwritten is told on request, with its argument's name."""
    with Machine() as machine:
        out = torch.empty(8)
        kernels.half_written[(1,)](out, 5)
        hazard = machine.unwritten(out)
        assert hazard is not None
        assert (hazard.kind, hazard.tensor, hazard.index, hazard.count) == (
            "never written",
            "out_ptr",
            (5,),
            3,
        )
        kernels.half_written[(1,)](out, 8)
        assert machine.unwritten(out) is None
        assert machine.unwritten(torch.zeros(8)) is None


def test_read_only():
    """A store to a tensor declared read-only is a hazard, also through a view of it."""
    x = floats(8)
    with Machine(read_only=[x]) as machine:
        kernels.copy[(1,)](floats(8), x.view(2, 4))
    assert [hazard.kind for hazard in machine.hazards] == ["write to a read-only tensor"]
    with Machine(read_only=[x]) as machine:
        kernels.copy[(1,)](x, floats(8))
    assert machine.hazards == []


@pytest.mark.parametrize(
    ("grid", "kind"),
    [
        ((1, 65536), "grid too large"),
        ((1, 1, 65536), "grid too large"),
        ((0,), "empty grid"),
        ((1, 0), "empty grid"),
    ],
)
def test_grid(grid, kind):
    """A grid that the hardware refuses, or that runs nothing, is a hazard."""
    with Machine() as machine:
        kernels.one_store[grid](floats(1))
    assert kind in {hazard.kind for hazard in machine.hazards}


def test_long_first_axis():
    """The first axis takes more programs than the others may have."""
    out = floats(70_000)
    with Machine() as machine:
        kernels.one_store[(70_000, 1)](out)
    assert machine.hazards == []
    assert (out == 1).all()


def test_loop_without_step():
    """A loop whose step is zero is reported, not hung."""
    with Machine() as machine:
        kernels.standing_loop[(1,)](EIGHT.int(), 5, 0)
    assert [hazard.kind for hazard in machine.hazards] == ["loop that does not end"]


def test_chunks_see_each_other(monkeypatch):
    """Conflicts are found between programs that run in different chunks."""
    from properties.ttir import launching

    monkeypatch.setattr(launching, "CHUNK_LANES", 4)
    for name in ("overlapping_tiles", "read_of_neighbour", "atomic_and_plain"):
        assert [hazard.kind for hazard in seen(name, True)] == [CASES[name][2]]
        assert seen(name, False) == []


def test_cap_counts_what_it_drops(monkeypatch):
    """Beyond the limit hazards are counted, not kept."""
    from properties.ttir import machine as module

    monkeypatch.setattr(module, "HAZARD_LIMIT", 2)
    with Machine() as machine:
        for _ in range(5):
            kernels.write_outside[(1,)](floats(5), 5, HAS=True)
    assert len(machine.hazards) == 2
    assert machine.dropped == 3
