"""Proofs in a run: what is proved holds, what cannot be proved fails no run, what is violated does."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("z3", reason="proofs need z3-solver, which is not installed")

from properties import allowed, tally
from properties.candidate import load
from properties.contract import DTYPES
from properties.engines import choose
from properties.engines.base import Engine
from properties.invariants import proof
from properties.judge import Judge
from properties.proofs import geometries
from properties.proofs.forward import launch
from properties.proofs.prove import Variant, are_renamed
from properties.proofs.world import World
from properties.verdict import HOLDS, NOT_JUDGED, VIOLATED
from tests.meta.proofs.conftest import FEW_TAPS
from tests.meta.proofs.faults import INDEXING, TILED
from tests.meta.proofs.test_proofs import looping, needs_upstream
from tests.meta.upstream_faults import UPSTREAM
from tests.proving import prove


@pytest.fixture
def run(request, monkeypatch):
    """`run(target, entry)`: the verdict and reason of a proof at one small geometry, and whether the run fails."""
    monkeypatch.setattr(geometries, "quick", lambda dtype: [FEW_TAPS])

    def judged(target: str | Path, entry: tally.Property) -> tuple[str, str, bool]:
        bound = choose("ttir").bind(load(str(target)))
        with tally.apart():
            try:
                prove(request, bound, entry)
            except (pytest.fail.Exception, pytest.skip.Exception) as outcome:
                words = str(outcome)
            else:
                words = ""
            verdict, reason = tally.verdict(entry.name, tally.COUNTS[entry.name])
            return verdict, words or reason, Judge(bound, bound.engine).failed()

    return judged


def test_what_is_proved_holds(run):
    """Counts the claims; how far a proof goes is told."""
    assert run(TILED, proof.conflicts) == (HOLDS, "", False)


@needs_upstream
def test_a_proof_up_to_a_number_of_rows_says_so(run):
    """The number and the geometry stand beside the verdict."""
    verdict, words, fails = run(UPSTREAM, proof.wraps)
    assert (verdict, fails) == (HOLDS, False)
    assert words.startswith("for T <= ")
    assert words.endswith(f" at {FEW_TAPS!r}")


@needs_upstream
def test_what_cannot_be_proved_fails_no_run(run, tmp_path):
    """It is not judged, the operation and its line are named, and the exit code stays with the other properties."""
    verdict, words, fails = run(looping(tmp_path, "range(W * tl.cdiv(T, 1_000_000))"), proof.taps)
    assert (verdict, fails) == (NOT_JUDGED, False)
    assert words.startswith("not judged [proof.taps]: a loop (scf.for) whose rounds are not constant")


def test_without_the_solver_it_is_not_judged(run, monkeypatch):
    """Where z3 is not installed the verdict says so."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "z3" else find(name, *more))
    verdict, words, fails = run(TILED, proof.metadata)
    assert (verdict, fails) == (NOT_JUDGED, False)
    assert words == "not judged [proof.metadata]: z3-solver is not installed"


def test_another_engine_shows_no_program():
    """Proofs read the IR that the ttir engine reads."""
    excuse = proof.taps.excuse(Engine().bind(load(TILED)))
    assert excuse is not None
    assert excuse.endswith("shows no program to prove of; judge with --engine ttir")


@needs_upstream
def test_what_is_violated_fails_the_run(run, tmp_path):
    """The failure is the violation of the machine, with the claim that does not hold."""
    path = INDEXING["query_start compared off by one"].write("off by one", tmp_path)
    verdict, words, fails = run(path, proof.taps)
    assert (verdict, fails) == (VIOLATED, True)
    assert words.startswith("Violation: out[")
    assert "Found by a proof: it does not hold that out is the contract's expression for " in words


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_fp16_is_bf16_by_another_name(dtype):
    """So that in fp16 nothing is proved twice; fp32, which is not widened, has programs of its own."""
    operator = load(TILED).operators["fused_sconv"]
    world = World(geometries.with_dtype(FEW_TAPS, dtype))
    assert are_renamed(operator, [Variant(world, launch(operator, world))]) == (dtype == "fp16")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_geometry_is_one_that_the_contract_allows(dtype):
    """What the profiles prove at can be a case, and a quick one is among all."""
    every = geometries.every(dtype)
    assert [allowed.fault(geometry) for geometry in every] == [None] * len(set(every))
    assert set(geometries.quick(dtype)) <= set(every)
    assert {geometry.dtype for geometry in every} == {dtype}
