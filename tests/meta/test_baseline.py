"""Two kernels side by side: what is equal, what is near, what differs, and whose fault it is."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
import torch

from properties import configurations, surroundings, tally
from properties.baseline import Baseline
from properties.candidate import Candidate
from properties.cases import Forward, Geometry, Layout, Metadata, Request
from properties.contract import OPERATORS
from properties.engines.base import Engine
from properties.invariants import baseline
from properties.replay import main
from properties.verdict import NotJudged, Violation
from tests.meta.candidates import plain
from tests.meta.candidates.faults import faulty, write_faulty
from tests.meta.candidates.faults_hidden import NewestFirst
from tests.meta.test_command_line import called

GEOMETRY = Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8, dtype="fp32")
CASE = Forward(GEOMETRY, (Request(start=5, length=9), Request(length=4)), contents="normal")


class Turned(NewestFirst):
    """Sums every row newest first: other bits, within the bound."""

    def is_turned(self, step, weight):
        return True


def side_by_side(candidate, other):
    """A candidate's operators on the host, with those of another kernel to compare with."""
    engine = Engine()
    one, two = (
        Candidate(name, None, "none", {op: getattr(module, op) for op in OPERATORS if hasattr(module, op)})
        for name, module in (("candidate", candidate), ("other", other))
    )
    ops = engine.bind(one)
    ops.baseline = Baseline(two, engine)
    return ops


def test_the_same_kernel():
    """Is equal in all bits, and the verdict says so."""
    baseline.fused_sconv(side_by_side(plain, plain), CASE)
    baseline.sconv_seq_metadata(side_by_side(plain, plain), Metadata(lengths=(2, 0, 3), padding=4, slack=1))
    count = tally.COUNTS["baseline.fused_sconv"]
    count.edges = set(tally.CATALOGUE["baseline.fused_sconv"].needs)
    assert (count.judged, count.near) == (1, 0)
    assert tally.verdict("baseline.fused_sconv", count) == ("holds", "equal in all bits")


def test_another_order_of_sums():
    """Holds within the bound, and the verdict counts the cases in which bits differ."""
    ops = side_by_side(Turned(), plain)
    baseline.fused_sconv(ops, CASE)
    baseline.fused_sconv(ops, Forward(Geometry(W=2)))
    count = tally.COUNTS["baseline.fused_sconv"]
    count.edges = set(tally.CATALOGUE["baseline.fused_sconv"].needs)
    words = "within the bound (1 of 2 cases differ in the last bits)"
    assert tally.verdict("baseline.fused_sconv", count) == ("holds", words)
    travelled = tally.dump()
    tally.merge(travelled)
    assert count.near == 2


@pytest.mark.parametrize(
    ("fault", "case", "words"),
    [
        ("scaled_weights", CASE, "within 1.4e-06 (the baseline gives "),
        ("stores_no_subnormals", Forward(GEOMETRY, contents="tiny", seed=1), ", as the baseline leaves it"),
        ("page_padding_cleared", Forward(GEOMETRY, layout=Layout(page_pad=8)), ", as the baseline leaves it"),
        ("truncates", Forward(Geometry(H=2, ws=3, N=4, W=4, D=3), contents="normal"), "(the baseline gives "),
    ],
)
def test_a_fault_of_the_convolution(fault, case, words):
    """Is a violation that names the element, what the candidate and what the baseline gave."""
    with pytest.raises(Violation) as caught:
        baseline.fused_sconv(side_by_side(faulty(fault), plain), case)
    assert caught.value.property_name == "baseline.fused_sconv"
    assert words in caught.value.headline
    assert caught.value.case == case


def test_a_fault_of_the_metadata():
    """Is a violation that names the element of the buffer."""
    with pytest.raises(Violation, match=r"seq_idx_out\[element 1\] = \d+, but should be 0, as the baseline leaves it"):
        baseline.sconv_seq_metadata(side_by_side(faulty("stale_tail"), plain), Metadata(padding=1))


@pytest.mark.parametrize("fault", ["scaled_weights", "returns_x"])
def test_a_faulty_baseline(fault):
    """Accuses no candidate: nothing can be compared, and the reason names the baseline."""
    with pytest.raises(NotJudged, match="the baseline other is wrong itself"):
        baseline.fused_sconv(side_by_side(plain, faulty(fault)), CASE)
    assert tally.COUNTS["baseline.fused_sconv"].violated == 0


def test_a_baseline_that_raises_prints_and_draws_random_numbers():
    """Is told of nobody, but for what it raises."""
    before = torch.default_generator.get_state()

    def noisy(*arguments, **named):
        print("noise")
        torch.rand(1)
        return plain.fused_sconv(*arguments, **named)

    baseline.fused_sconv(side_by_side(plain, SimpleNamespace(fused_sconv=noisy)), CASE)
    assert surroundings.NOTES == {}
    assert configurations.LAUNCHES == {}
    assert set(tally.COUNTS) == {"baseline.fused_sconv"}
    assert torch.equal(before, torch.default_generator.get_state())

    def failing(*arguments, **named):
        raise RuntimeError("no")

    with pytest.raises(NotJudged, match=r"the baseline other is wrong itself: .* raised RuntimeError"):
        baseline.fused_sconv(side_by_side(plain, SimpleNamespace(fused_sconv=failing)), CASE)


def test_without_a_baseline_or_its_operator():
    """Is excused with the reason, and no pass."""
    alone = Engine().bind(Candidate("alone", None, "none", {"fused_sconv": plain.fused_sconv}))
    with pytest.raises(NotJudged, match="no --baseline is given"):
        baseline.fused_sconv(alone, CASE)
    half = side_by_side(plain, SimpleNamespace(fused_sconv=plain.fused_sconv))
    with pytest.raises(NotJudged, match="the baseline other offers no sconv_seq_metadata"):
        baseline.sconv_seq_metadata(half, Metadata())
    assert tally.COUNTS["baseline.sconv_seq_metadata"].excused


def test_the_option(tmp_path):
    """Judges the group, names both files and how bits compare; without the option the group is not collected."""
    path = str(write_faulty("scaled_weights", tmp_path))
    asked = "tests/test_baseline.py::test_sconv_seq_metadata"
    code, printed = called("-v", asked, "--candidate", path, "--baseline", "tests.meta.candidates.plain")
    assert code == 0, printed
    assert "baseline: " in printed
    assert re.search(r"holds +baseline\.sconv_seq_metadata +\d+ cases  equal in all bits", printed)
    code, printed = called("tests/test_metadata.py", "-m", "baseline")
    assert (code, printed) == (4, "ERROR: -m baseline needs --baseline PATH|MODULE, the kernel to compare with\n\n")
    code, printed = called("tests/test_metadata.py", "--baseline", "none.py")
    assert (code, printed.partition("; ")[0]) == (4, "ERROR: baseline 'none.py' is no file")


@pytest.mark.parametrize(
    ("groups", "is_refused"),
    [("values or cache", True), ("not baseline", True), ("not history", False), ("values or baseline", False)],
)
def test_groups_that_leave_it_out(groups, is_refused):
    """Are refused in one line that says what to write, since nothing would be compared."""
    code, printed = called("tests/test_metadata.py", "--baseline", "sconv", "-m", groups, "--collect-only")
    line = f"ERROR: -m '{groups}' leaves out the group baseline, so --baseline sconv would compare nothing; add it: -m "
    assert (code == 4, printed.startswith(line)) == (is_refused, is_refused)


def test_names_that_leave_it_out(tmp_path):
    """Are told in one line; the command that shows a failure of another group again does not ask for it."""
    kernel = ("--candidate", str(write_faulty("search_one_step_short", tmp_path)), "--baseline", "sconv")
    code, printed = called("tests/test_metadata.py", "-k", "searchsorted", *kernel)
    assert code == 1, printed
    assert re.search(r"^Reproduce: +\S.* --engine \S+$", printed, re.M)
    assert "note: --baseline compared nothing, for no test of the group baseline was selected" in printed
    assert "compared nothing" not in called("tests/test_baseline.py", "-k", "metadata", *kernel)[1]


def test_replayed(tmp_path, capsys):
    """Replays a case of the group with the same option."""
    path = str(write_faulty("stale_tail", tmp_path))
    case = ["baseline.sconv_seq_metadata", "Metadata(padding=1)", "--engine", "ttir"]
    assert main([path, *case, "--baseline", "tests.meta.candidates.plain"]) == 1
    assert "as the baseline leaves it" in capsys.readouterr().out
    assert main([path, *case]) == 4
    assert "ERROR: no --baseline is given" in capsys.readouterr().err
