"""Graphs: a correct candidate holds, each fault of a host wrapper is seen; on a GPU too, where there is one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import sconv
from properties import graph_strategies, tally
from properties.books import life_edges
from properties.candidate import Candidate
from properties.cases import Forward, Geometry, Request
from properties.engines import ENGINES
from properties.engines.base import Ops
from properties.invariants import graphs, history
from properties.lives import Admit, Life, Rows, Step
from properties.replays import Replays
from properties.ttir import CaptureForbidden, Machine, Tape
from properties.verdict import NotJudged, Violation
from tests.meta.candidates.graph_faults import (
    FAULTS,
    ActualRowsFrozen,
    InferenceMode,
    LayoutInCapture,
    ReturnsEarly,
    ScalarOnTheHost,
    Wrapper,
)
from tests.meta.drawing import first_violation
from tests.meta.judging_table import bound as on_engine

NAMES = [name for name in ("ttir", "cuda") if ENGINES[name].unusable() is None]
INVARIANTS = {"piecewise": graphs.piecewise, "full": graphs.full, "breakable": graphs.breakable}
SEEN = [(fault, mode) for fault, modes in FAULTS.items() for mode in modes]


def bound(engine: str, candidate: Any) -> Ops:
    """A wrapper's operators on an engine."""
    return on_engine("wrapped", candidate, ENGINES[engine]())


def seen(ops: Ops, mode: str) -> Violation | None:
    """The first violation among drawn cases of that mode."""
    return first_violation(ops, INVARIANTS[mode], graph_strategies.replays("bf16", mode), examples=40)


@pytest.mark.parametrize("engine", NAMES)
@pytest.mark.parametrize(("fault", "mode"), SEEN, ids=lambda value: getattr(value, "__name__", value))
def test_fault(engine, fault, mode):
    """Each fault is seen by the properties that should see it."""
    violation = seen(bound(engine, fault()), mode)
    assert violation is not None, f"graphs.{mode} holds for {fault.__doc__}"
    assert violation.property_name == f"graphs.{mode}"
    assert isinstance(violation.case, Replays)


@pytest.mark.parametrize("engine", NAMES)
@pytest.mark.parametrize("wrapper", [Wrapper, InferenceMode, LayoutInCapture, ScalarOnTheHost])
def test_wrapper_without_fault(engine, wrapper):
    """What a graph may hold is not accused."""
    assert seen(bound(engine, wrapper()), "piecewise") is None


def test_one_operator_alone():
    """A candidate without the metadata operator is judged on the other."""
    ops = ENGINES["ttir"]().bind(Candidate("one", Path("one"), "none", {"fused_sconv": sconv.fused_sconv}))
    graphs.piecewise(ops, Replays((SHORT,), inside=True, breaks=(1,)))


GEOMETRY = Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8)
SHORT = Forward(GEOMETRY, (Request(5, 1), Request(9, 1)), contents="normal")
LONG = Forward(GEOMETRY, (Request(3, 4), Request(0, 2)), contents="normal", seed=1)


def test_frozen_number_is_named():
    """The difference between the graph's launches and the eager run's is told by name and values."""
    case = Replays((SHORT, LONG), dummy="first")
    with pytest.raises(Violation) as caught:
        graphs.piecewise(bound("ttir", ActualRowsFrozen()), case)
    assert "in the graph" in caught.value.but
    assert "is replayed with forward 1: 6 rows of 2 requests" in caught.value.let


@pytest.mark.parametrize("engine", NAMES)
def test_replays_are_counted(engine):
    """The verdict says how many replays it rests on, of all processes together."""
    with tally.apart():
        graphs.piecewise(bound(engine, Wrapper()), Replays((SHORT, LONG, SHORT)))
        own = tally.COUNTS["graphs.piecewise"].replays
        tally.merge(tally.dump())
        count = tally.COUNTS["graphs.piecewise"]
        assert count.replays == 2 * own > 0
        count.edges |= tally.CATALOGUE["graphs.piecewise"].needs
        assert f"{count.replays} replays" in tally.verdict("graphs.piecewise", count)[1]


@pytest.mark.parametrize("engine", NAMES)
def test_a_graph_of_a_life(engine):
    """A life's steps run by their bucket's graph; a fault that only replaying shows is seen in the second."""
    steps = (Admit(), Step((Rows(count=2),), is_replayed=True), Step((Rows(count=4),), is_replayed=True))
    case = Life(Geometry(N=4, W=4), steps)
    assert {"graph captured", "graph replayed on refilled buffers"} <= life_edges(case)
    history.life(bound(engine, Wrapper()), case)
    with pytest.raises(Violation) as caught:
        history.life(bound(engine, ActualRowsFrozen()), case)
    assert caught.value.where["step"] == 2


def test_host_read_is_refused():
    """What the host reads while a region is captured is refused as CUDA refuses it."""
    with pytest.raises(Violation, match="not permitted when stream is capturing"):
        graphs.piecewise(bound("ttir", ReturnsEarly()), Replays((SHORT,)))


def test_interpreter_says_why():
    """Triton's interpreter cannot be captured; the property is not judged, with the reason."""
    engine = ENGINES["ttir"]()
    engine.no_graphs = "no"
    with pytest.raises(NotJudged, match="no"):
        graphs.piecewise(on_engine("sconv", sconv, engine), Replays((SHORT,)))


@pytest.mark.parametrize("segments", [(None, ()), (0, ()), (2, (1, 4))])
def test_segments(segments):
    """Every stage lies in one segment, in order, and the eager one alone."""
    eager, breaks = segments
    case = Replays((replace(SHORT, geometry=GEOMETRY),), layers=1, inside=True, eager=eager, breaks=breaks)
    assert [stage for _, stages in case.segments for stage in stages] == list(range(5))
    assert [stages for captured, stages in case.segments if not captured] == ([] if eager is None else [(eager,)])


def test_data_by_name():
    """A tensor that is made of data given by name is made, and is one of the host."""
    with Machine(), Tape() as tape:
        made = torch.tensor(data=[1.0]) * 2
    assert float(made) == 2.0
    tape.replay(lambda launches: None)
    with pytest.raises(CaptureForbidden), Tape():
        torch.where(made > 0, torch.tensor(data=-1.0), made)


def test_tape_repeats_torch_and_triton():
    """Writes, new tensors and views are done again in order on what the buffers hold by then."""
    x = torch.arange(4.0)
    with Machine(), Tape() as tape:
        doubled = x * 2
        doubled[1:3] += 1
        view = doubled[:2]
        total = view.sum()
    x.copy_(torch.tensor([5.0, 6.0, 7.0, 8.0]))
    tape.replay(lambda launches: None)
    assert doubled.tolist() == [10.0, 13.0, 15.0, 16.0]
    assert float(total) == 23.0
