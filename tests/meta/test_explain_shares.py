"""What a failure says of taps that are scaled, averaged or added without a weight, and of a residual added twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from properties.cases import Forward, Geometry, Request
from tests.meta.candidates import tiled
from tests.meta.test_explain_causes import on_upstream
from tests.meta.test_explain_kernels import ADDED, told
from tests.meta.upstream_faults import change

SUM_OF_WEIGHTS = "sw = wv if iw == 0 else sw + wv"
BEFORE = "    if USE_SILU:"
CASE = Forward(Geometry(ws=2, N=4, W=3, off_s=1, D=4), (Request(5),), contents="normal")


@on_upstream
@pytest.mark.parametrize(
    ("line", "instead", "words"),
    [
        (BEFORE, f"    acc /= W\n{BEFORE}", "each tap counts 0.334 times; 2 of 2"),
        (
            ADDED,
            ADDED.replace("(xt + cv)", "(xt + cv) * (1 if iw else 0.25)"),
            "tap 0 counts 0.25 times; 2 of 2",
        ),
        (
            ADDED,
            ADDED.replace("* wv[None, :]", "/ W"),
            "with all weights 0 and no residual, 0.334 of each tap comes out; 2 of 2",
        ),
        (
            ADDED,
            f"        acc += xt + cv\n        {SUM_OF_WEIGHTS}\n    acc *= sw[None, :] / W",
            "with weight 1 for any one tap and 0 for the others, 0.334 of each tap comes out; 2 of 2",
        ),
        (
            ADDED,
            ADDED.replace("(xt + cv)", "(xt + cv + (0.5 * xv if iw == 1 else 0.0))"),
            "with weight 1 for tap 1 and 0 for the others, 1 of tap 1 and 0.5 of tap 2 comes out; 2 of 2",
        ),
        (
            ADDED,
            ADDED.replace(" * wv[None, :]", ""),
            "tap 0 (block 0 offset 3) is added without a weight, tap 1 (block 1 offset 0) is added without a weight,",
        ),
    ],
)
def test_what_is_done_to_all_taps_is_not_laid_on_one(line, instead, words, tmp_path):
    """Says which part of which taps comes out, and under which weights, where that is no whole input."""
    found = told(change(tmp_path, line, instead), CASE)
    assert found.but.startswith(words)
    assert not any(tap.is_wrong for tap in found.taps)


@on_upstream
def test_a_residual_that_is_added_twice_has_the_line_of_its_store(tmp_path):
    """Names the store of the sum where two lines load the row: nobody knows which of them is the residual's."""
    line = "        acc += xv.to(tl.float32)"
    found = told(change(tmp_path, line, line.replace("xv", "2 * xv")), CASE)
    assert found.but.startswith("x[0] is added twice; ")
    assert ": tl.store(out_ptr" in found.at
    assert found.at.endswith("(of the sum)")


def test_a_residual_that_is_added_twice_has_the_line_of_its_load(tmp_path):
    """Names the load of the row where it is the only one."""
    line = "        total += current\n"
    text = Path(tiled.__file__).read_text()
    assert text.count(line) == 1
    path = tmp_path / "kernel.py"
    path.write_text(text.replace(line, line.replace("current", "2 * current")))
    found = told(path, CASE)
    assert found.but.startswith("x[0] is added twice; ")
    assert ": x = tl.load(x_ptr" in found.at
