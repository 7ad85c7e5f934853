"""What is proved of the kernels, and what becomes of a proof that fails."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("z3", reason="proofs need z3-solver, which is not installed")

from properties.proofs import counterexamples
from properties.proofs.geometries import REAL
from properties.proofs.solving import Answer, Question
from properties.proofs.world import TABLE_ROW, Limits
from properties.replay import replay
from properties.verdict import NOT_JUDGED, PROVED, VIOLATED, Violation
from tests.meta.proofs.conftest import FEW_TAPS, SMALL
from tests.meta.proofs.faults import ARITHMETIC, INDEXING, TILED
from tests.meta.upstream_faults import UPSTREAM

GLOBAL = REAL["inkling-global"]
NAMES = ("accesses", "conflicts", "taps", "wraps")
needs_upstream = pytest.mark.skipif(not UPSTREAM.is_file(), reason=f"judges {UPSTREAM}, which is not here")


def skip_where_absent(fault):
    """Skips a fault of a file that is not here."""
    if not fault.source.is_file():
        pytest.skip(f"judges {fault.source}, which is not here")


@pytest.mark.parametrize("geometry", [SMALL, GLOBAL], ids=["small", "inkling-global"])
@pytest.mark.parametrize("name", NAMES)
def test_tiled_is_proved(name, geometry, verdict_of):
    """Every obligation holds of the fixture, for every number of rows within the limits."""
    verdict = verdict_of(TILED, name, geometry)
    assert (verdict.what, verdict.reason, verdict.most_rows) == (PROVED, "", None)
    assert verdict.claims > verdict.idle


@pytest.mark.parametrize("parity", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_sconv_is_proved(name, parity, verdict_of):
    """Every obligation holds of both programs that a host launches of sconv, one for even and one for odd rows."""
    verdict = verdict_of("sconv", name, FEW_TAPS, parity=parity)
    assert (verdict.what, verdict.reason, verdict.most_rows) == (PROVED, "", None)
    assert verdict.claims > verdict.idle


@pytest.mark.parametrize("use_residual", [True, False])
def test_silu_is_proved(use_residual, verdict_of):
    """With the activation, too, every stored value is the contract's expression."""
    verdict = verdict_of(TILED, "taps", FEW_TAPS, activation="silu", use_residual=use_residual)
    assert (verdict.what, verdict.reason) == (PROVED, "")


@needs_upstream
@pytest.mark.parametrize("name", NAMES)
def test_upstream_is_proved_up_to_its_limit(name, verdict_of):
    """Every obligation holds of the upstream file, whose rows times channels wrap past 2**31."""
    verdict = verdict_of(UPSTREAM, name, GLOBAL)
    most_rows = (2**31 - 1) // GLOBAL.C + 1  # the last row's offset is still below 2**31
    assert (verdict.what, verdict.most_rows) == (PROVED, most_rows if name == "wraps" else None)


@pytest.mark.parametrize("name", INDEXING)
def test_a_fault_of_indexing_is_violated(name, tmp_path, verdict_of):
    """A changed index or mask is violated, with a case in which the machine sees a violation too."""
    fault = INDEXING[name]
    skip_where_absent(fault)
    path = fault.write(name, tmp_path)
    verdict = verdict_of(path, fault.obligation, FEW_TAPS)
    assert verdict.what == VIOLATED, verdict.reason
    with pytest.raises(Violation):
        replay(str(path), verdict.property_name, verdict.case, "ttir")


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("query_start compared off by one", "row 0 of a request, at position 1"),
        ("slot 0 is padding", "row 1 of a request, at position 2 or later"),
        ("only -1 is padding", "row 0 of a request, at position 1"),
        ("a shortcut that trusts padding", "row 0 of a request, at position 2 or later"),
    ],
)
def test_what_is_denied_is_what_the_case_shows(name, row, tmp_path, verdict_of):
    """Denies the claim of the row in which the case shows it, which the solver's model may not have named."""
    fault = INDEXING[name]
    skip_where_absent(fault)
    path = fault.write(name, tmp_path)
    verdict = verdict_of(path, fault.obligation, FEW_TAPS)
    assert verdict.reason == f"out is the contract's expression for {row}"
    with pytest.raises(Violation) as shown:
        replay(str(path), verdict.property_name, verdict.case, "ttir")
    request, position = (int(str(shown.value.where[name])) for name in ("request", "position"))
    number, at = map(int, re.findall(r"\d+", row))
    assert position - verdict.case.requests[request].start == number
    assert position == at or (position > at and row.endswith("later"))


@needs_upstream
def test_what_others_judge_reads_as_no_second_fault(tmp_path, verdict_of):
    """Leaves wraps to accesses where an index is outside of its tensor, and speaks of no counterexample of its own."""
    path = INDEXING["block_size replaced by W"].write("block size", tmp_path)
    verdict = verdict_of(path, "wraps", FEW_TAPS)
    assert verdict.what == NOT_JUDGED
    assert "whether that which the page stride multiplies does is what `accesses` judges (" in verdict.reason
    assert "counterexample" not in verdict.reason


@needs_upstream
def test_a_claim_about_the_cache_is_shown_in_the_cache(tmp_path, verdict_of):
    """Takes the case that shows a wrong store by the cache, though an output that is wrong by it is seen first."""
    path = INDEXING["PAD rows stored to slot 0"].write("pads", tmp_path)
    verdict = verdict_of(path, "taps", FEW_TAPS)
    assert verdict.reason == "the cache gets x of a row with a slot, at the slot's place"
    assert verdict.property_name.startswith("cache.")


@needs_upstream
@pytest.mark.parametrize("name", ARITHMETIC)
def test_a_fault_of_arithmetic_is_left_to_tests(name, tmp_path, verdict_of):
    """Where indices are right nothing is accused: the taps are not judged, the accesses proved."""
    path = ARITHMETIC[name].write(name, tmp_path)
    verdict = verdict_of(path, "taps", FEW_TAPS)
    assert verdict.what == NOT_JUDGED
    assert "its taps are right" in verdict.reason
    assert verdict_of(path, "accesses", FEW_TAPS).what == PROVED


def test_a_vacuous_proof_is_none(verdict_of):
    """Under assumptions that nothing satisfies every claim follows, and nothing is proved."""
    verdict = verdict_of(TILED, "accesses", limits=Limits(positions=0))
    assert verdict.what == NOT_JUDGED
    assert "ever happens" in verdict.reason


@needs_upstream
def test_a_counterexample_that_no_case_confirms_accuses_nobody(tmp_path, verdict_of, monkeypatch):
    """A model alone is not believed: it may be one of states that no batch reaches."""
    monkeypatch.setattr(counterexamples, "cases", lambda *arguments: iter(()))
    verdict = verdict_of(INDEXING["a lost mask"].write("a lost mask", tmp_path), "accesses")
    assert verdict.what == NOT_JUDGED
    assert "no case confirms" in verdict.reason


@needs_upstream
def test_another_fault_confirms_nothing(tmp_path, verdict_of):
    """A kernel that reads out of bounds is not said to wrap, though a model makes its undefined positions do so."""
    verdict = verdict_of(INDEXING["a lost mask"].write("a lost mask", tmp_path), "wraps", FEW_TAPS)
    assert verdict.what == NOT_JUDGED


def test_no_answer_is_not_judged(verdict_of, monkeypatch):
    """A question that the solver gives up on names its claim."""
    monkeypatch.setattr(Question, "find", lambda *arguments, **more: Answer(False, None, "no answer in 30 s"))
    verdict = verdict_of(TILED, "conflicts")
    assert verdict.what == NOT_JUDGED
    assert "no answer" in verdict.reason
    assert "tiled.py" in verdict.reason


@needs_upstream
def test_an_operation_outside_the_fragment_is_named(tmp_path, verdict_of):
    """A loop whose rounds follow the rows is named with its line, not guessed at."""
    verdict = verdict_of(looping(tmp_path, "range(W * tl.cdiv(T, 1_000_000))"), "accesses")
    assert verdict.what == NOT_JUDGED
    assert verdict.reason.startswith("a loop (scf.for) whose rounds are not constant")
    assert "looping.py:" in verdict.reason


@needs_upstream
@pytest.mark.parametrize("name", NAMES)
def test_a_loop_of_constant_rounds_is_unrolled(name, tmp_path, verdict_of):
    """The loop over the taps is proved also where Triton keeps it as a loop."""
    verdict = verdict_of(looping(tmp_path, "range(W)"), name, FEW_TAPS)
    assert (verdict.what, verdict.reason) == (PROVED, "")


def looping(folder, rounds):
    """The upstream file with another loop over its taps."""
    text = UPSTREAM.read_text()
    assert text.count("tl.static_range(W)") == 1
    path = folder / "looping.py"
    path.write_text(text.replace("tl.static_range(W)", rounds))
    return path


@needs_upstream
@pytest.mark.parametrize("fixed", [{"T": 1}, {"width": 1}, {"width": 1, TABLE_ROW: 1}], ids=str)
def test_programs_for_sizes_of_one_are_proved(fixed, verdict_of):
    """Triton compiles a size of 1 as a constant; the others stay symbols."""
    for name in NAMES:
        verdict = verdict_of(UPSTREAM, name, FEW_TAPS, fixed=fixed)
        assert (verdict.what, verdict.reason) == (PROVED, ""), name


def test_the_same_steps_each_time(verdict_of):
    """What the solver does depends on the question alone, not on what was asked before or on how long it took."""
    first = verdict_of(TILED, "taps")
    verdict_of(TILED, "conflicts", FEW_TAPS)
    again = verdict_of(TILED, "taps")
    assert (first.steps, first.claims) == (again.steps, again.claims)
    assert first.steps > 0
