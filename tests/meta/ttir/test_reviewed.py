"""What a fresh reviewer found: each finding that was mended, pinned."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from properties.ttir import Machine, Unsupported

from . import reviewed_kernels as kernels

ROOT = Path(__file__).parents[3]


@triton.jit
def skipping(x_ptr, out_ptr, n, BLOCK: tl.constexpr, CLEAN: tl.constexpr):
    """Leaves lanes out by an `or` that is true, whatever their undefined value, where CLEAN."""
    lane = tl.arange(0, BLOCK)
    value = tl.load(x_ptr + lane, mask=lane < n)
    skip = (value != value) | (lane >= n) if CLEAN else (value != value) | (lane > n)
    tl.store(out_ptr + lane, value, mask=skip == 0)


@triton.jit
def standing(out_ptr, n):
    """Loops with a step that is 0 in the first program."""
    total = 0
    for _ in range(0, n, tl.program_id(0)):
        total += 1
    tl.store(out_ptr + tl.program_id(0), total)


def test_or_with_a_clean_true_is_clean():
    """Takes a lane for left out when one condition, clean, already leaves it out; one lane more is a hazard."""
    with Machine() as machine:
        skipping[(1,)](torch.ones(8), torch.zeros(8), 5, BLOCK=8, CLEAN=True)
    assert machine.hazards == []
    with Machine() as machine:
        skipping[(1,)](torch.ones(8), torch.zeros(8), 5, BLOCK=8, CLEAN=False)
    assert {hazard.kind for hazard in machine.hazards} == {"masked-off lane without other"}


def test_a_step_that_is_not_positive_in_one_program():
    """Reports the loop although other programs leave it."""
    with Machine() as machine:
        standing[(3,)](torch.zeros(3, dtype=torch.int32), 4)
    assert [hazard.kind for hazard in machine.hazards] == ["loop that does not end"]


@pytest.mark.parametrize(
    ("ending", "outside", "code", "words"),
    [
        ("sys.exit(0)", True, 1, "1 hazard in 1 launch"),
        ("sys.exit(0)", False, 0, "0 hazards in 1 launch"),
        ("sys.exit(3)", False, 3, "the script ended with exit code 3"),
        ("raise ValueError('late')", True, 1, "the script ended with ValueError at "),
    ],
)
def test_however_a_script_ends_its_hazards_are_told(tmp_path, ending, outside, code, words):
    """Prints what was seen before the script's end, in whatever way that came."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nimport torch\nfrom tests.meta.ttir.hazard_kernels import write_outside\n"
        f"write_outside[(1,)](torch.zeros(5), 5, HAS={outside})\n{ending}\n"
    )
    command = [sys.executable, "-W", "ignore", "-m", "properties.ttir", str(script)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert ("out-of-bounds write" in done.stdout) == outside
    assert "Traceback" not in done.stderr


def kinds(kernel, programs, *arguments, **constants):
    """Returns the kinds of hazards that a launch shows."""
    with Machine(loop_limit=constants.pop("loop_limit", 1000)) as machine:
        kernel[(programs,)](*arguments, **constants)
    return [hazard.kind for hazard in machine.hazards]


@pytest.mark.parametrize("block", [128, 256, 512])
def test_a_tile_outlives_an_early_return(block):
    """Values that a later block of the body reads are kept, however large."""
    x, out = torch.arange(float(block)), torch.zeros(2, block)
    flags = torch.tensor([0, 1], dtype=torch.int32)
    assert kinds(kernels.returns_early, 2, flags, x, out, BLOCK=block) == []
    assert torch.equal(out, torch.stack([torch.zeros(block), x]))


def test_functions_in_constants_are_told_apart():
    """Two functions of one name, in a tuple, are two specialisations."""
    results = []
    for function in (kernels.SUM, kernels.PRODUCT):
        out = torch.zeros(1)
        kinds(kernels.applied, 1, torch.full((1,), 3.0), out, FUNCTIONS=(function,))
        results.append(float(out))
    assert results == [8.0, 15.0]


@pytest.mark.parametrize("has_it", [True, False])
def test_a_masked_off_atomic_gives_nothing(has_it):
    """Its result is undefined, as that of a load is."""
    integers = torch.zeros(1, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    wanted = ["masked-off lane without other"] if has_it else []
    assert kinds(kernels.ticket, 1, *integers, 5, HAS=has_it) == wanted


@pytest.mark.parametrize("programs", [3, 16])
def test_an_undefined_size_of_a_descriptor(programs):
    """The program whose descriptor is undefined is named, and all of its lanes."""
    with Machine() as machine:
        sizes = torch.empty(programs, dtype=torch.int32)
        sizes[:-1].fill_(16)
        kernels.described[(programs,)](sizes, torch.ones(16), torch.zeros(programs * 16))
    told = {(hazard.kind, hazard.programs[0], hazard.count) for hazard in machine.hazards}
    assert ("memory never written", (programs - 1, 0, 0), 16) in told
    assert {program for _, program, _ in told} == {(programs - 1, 0, 0)}


@pytest.mark.parametrize("masked", [True, False])
def test_histogram_under_a_mask(masked):
    """Undefined values that the mask leaves out are not counted."""
    x, out = torch.arange(8, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    wanted = [] if masked else ["masked-off lane without other"]
    assert kinds(kernels.counted, 1, x, out, 5, MASKED=masked) == wanted
    if masked:
        assert out.tolist() == [1, 1, 1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(("held", "expected", "swaps"), [(-0.0, 0.0, False), (1.5, 1.5, True), (0.0, 0.0, True)])
def test_compare_and_swap_compares_bits(held, expected, swaps):
    """Zeros of two signs differ."""
    x = torch.tensor([held])
    kinds(kernels.swapped, 1, x, expected, 5.0)
    assert float(x) == (5.0 if swaps else held)


def test_locks_in_the_body_and_locks_for_ever():
    """A loop that only asks atomically is run program by program; one that never ends ends the launch."""
    lock, total = (torch.zeros(1, dtype=torch.int32) for _ in range(2))
    assert kinds(kernels.locked_in_the_body, 5, lock, total) == []
    assert int(total) == 10
    with Machine(loop_limit=50) as machine:
        kernels.waits_for_ever[(64,)](torch.zeros(1, dtype=torch.int32))
    (hazard,) = machine.hazards
    assert (hazard.kind, hazard.count) == ("loop that does not end", 1)


def test_an_address_that_wraps_in_64_bits():
    """Eight steps of 2^61 elements come back to the start."""
    assert kinds(kernels.walked, 1, torch.zeros(8), torch.zeros(1), 2**61) == ["wrapped index"]
    assert kinds(kernels.walked, 1, torch.zeros(9), torch.zeros(1), 1) == []


def test_print_in_a_branch(capsys):
    """Prints the programs that are in the branch, and the text as it was written."""
    kinds(kernels.printed, 3, torch.arange(3.0))
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith('printed a "quoted" word')
    assert line.endswith("[1.]")


def test_hazards_before_what_is_not_supported():
    """What was seen before a launch ended in one line is told."""
    with Machine() as machine, pytest.raises(Unsupported, match="outside of every argument"):
        kernels.outside_then_unknown[(1,)](torch.zeros(8), 8, torch.zeros(1))
    assert [hazard.kind for hazard in machine.hazards] == ["out-of-bounds read"]


def test_rounds_cost_alike():
    """Stores that meet earlier ones cost the same in late rounds as in early ones."""

    def seconds(rounds):
        begin = time.process_time()
        assert kinds(kernels.stores_again, 1, torch.zeros(8, dtype=torch.int32), rounds, loop_limit=10_000) == []
        return time.process_time() - begin

    seconds(10)
    assert min(seconds(4000) for _ in range(2)) < 12 * min(seconds(500) for _ in range(3))


def test_a_script_without_launches(tmp_path):
    """Nothing launched is no success; a module's name runs a file of pytest's."""
    script = tmp_path / "kernel_test.py"
    script.write_text(
        "import torch, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def copy(x, out):\n"
        "    tl.store(out, tl.load(x + 1))\n"
        "def test_copy():\n"
        "    copy[(1,)](torch.zeros(1), torch.zeros(1))\n"
    )

    def run(*arguments):
        command = [sys.executable, "-W", "ignore", "-m", "properties.ttir", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    alone = run(str(script))
    assert (alone.returncode, "nothing was judged" in alone.stderr) == (5, True)
    collected = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", str(script))
    assert (collected.returncode, "out-of-bounds read" in collected.stdout) == (1, True), collected.stdout
