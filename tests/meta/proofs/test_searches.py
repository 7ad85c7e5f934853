"""What is proved of the metadata kernels, for every query_start_loc, and what becomes of their faults."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings

pytest.importorskip("z3", reason="proofs need z3-solver, which is not installed")
import z3

from properties.candidate import load
from properties.cases import Metadata
from properties.proofs import metadata, requests
from properties.proofs.axioms import all_of
from properties.proofs.invariants import INVARIANTS, Invariant
from properties.proofs.prove import METADATA, Variant, prove, prove_metadata
from properties.replay import replay
from properties.strategies import metadata as metadata_cases
from properties.verdict import NOT_JUDGED, PROVED, VIOLATED, Violation
from tests.meta.proofs.faults import SEARCHES, SEARCHES_RIGHT, TILED
from tests.meta.proofs.test_proofs import needs_upstream, skip_where_absent
from tests.meta.upstream_faults import UPSTREAM

FEW = 12  # requests up to which the tests unroll, in four rounds


def proved(target, most=FEW):
    """The verdict on the metadata kernel of a candidate."""
    return prove_metadata(str(target), load(str(target)).operators["sconv_seq_metadata"], most)


@pytest.mark.parametrize("target", ["sconv", TILED, pytest.param(str(UPSTREAM), marks=needs_upstream)])
def test_the_search_is_proved(target):
    """The search of each kernel ends at the owner, for every number of requests."""
    verdict = proved(target)
    assert (verdict.what, verdict.reason) == (PROVED, "")
    assert verdict.scope.startswith("every number of requests")
    assert verdict.claims > verdict.idle


@pytest.mark.parametrize("name", SEARCHES)
def test_a_fault_of_the_search_is_violated(name, tmp_path):
    """A changed search, mask or store is violated, with a call in which the machine sees a violation too."""
    skip_where_absent(SEARCHES[name])
    path = SEARCHES[name].write(name, tmp_path)
    verdict = proved(path)
    assert verdict.what == VIOLATED, verdict.reason
    with pytest.raises(Violation):
        replay(str(path), verdict.property_name, verdict.case, "ttir")


@pytest.mark.parametrize("name", SEARCHES_RIGHT)
def test_another_right_search_is_proved(name, tmp_path):
    """A search that is written otherwise and right is accused of nothing, invariant or not."""
    skip_where_absent(SEARCHES_RIGHT[name])
    assert proved(SEARCHES_RIGHT[name].write(name, tmp_path)).what == PROVED


def test_without_an_invariant_it_is_proved_up_to_a_number(monkeypatch):
    """The verdict says how many requests there may be."""
    monkeypatch.setattr(requests, "INVARIANTS", {})
    assert proved(TILED).scope.startswith(f"at most {FEW} requests; beyond them not judged: no invariant is known")


def test_a_wrong_invariant_proves_nothing(monkeypatch):
    """An invariant that a round does not keep is no reason to believe anything."""
    wrong = Invariant("search_steps", 2, lambda world, row, span, carried: [carried[0] == carried[1]])
    monkeypatch.setattr(requests, "INVARIANTS", dict.fromkeys(INVARIANTS, wrong))
    assert proved(TILED).scope.startswith(f"at most {FEW} requests; beyond them not judged: whether ")


@pytest.mark.parametrize("name", requests.AXIOMS)
def test_every_axiom_matters(name):
    """Without it some claim has a counterexample."""
    for world, kernel in requests.unrolled(load(TILED).operators["sconv_seq_metadata"], 3):
        for claim in metadata.claims(kernel, world):
            if claim.ask(frozenset({name})).model is not None:
                return
    pytest.fail(f"everything is proved without {name!r}")


def test_a_vacuous_proof_is_none(monkeypatch):
    """Under assumptions that nothing satisfies nothing is proved."""
    *_, (world, kernel) = requests.unrolled(load(TILED).operators["sconv_seq_metadata"], 3)
    monkeypatch.setattr(requests.RequestsWorld, "owns", lambda *arguments: z3.BoolVal(True))
    world.fewest, world.most = 3, 2
    assert prove(TILED, Variant(world, kernel), METADATA).what == NOT_JUDGED


@settings(max_examples=30)
@given(metadata_cases())
def test_generated_cases_satisfy_every_axiom(case: Metadata):
    """A call that the judge draws violates no assumption: the proofs speak about it."""
    lengths = case.all_lengths
    assume(0 < len(lengths) <= FEW and sum(lengths) + (case.padding or 0) > 0)
    world = requests.RequestsWorld(0, FEW)
    ends = [sum(lengths[:count]) for count in range(len(lengths) + 1)]
    solver = z3.Solver()
    solver.add(world.R == len(lengths), world.actual == ends[-1], world.T == ends[-1] + (case.padding or 0))
    solver.add(*(world.entry(z3.IntVal(count)) == end for count, end in enumerate(ends)))
    assert solver.check() == z3.sat
    for name, fact in all_of(world, [z3.IntVal(count) for count in range(len(ends))]):
        assert solver.check(z3.Not(fact)) == z3.unsat, name
