"""What a fresh reviewer found: each finding that was mended, pinned."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from properties.ttir import Machine

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
        ("sys.exit(3)", False, 1, "the script ended with exit code 3"),
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
