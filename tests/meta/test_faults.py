"""A candidate in plain torch holds everywhere; each copy with one fault is caught, by the property that should."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache as remembered
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from properties import strategies
from properties.candidate import Candidate
from properties.contract import ACTIVATIONS, OPERATORS
from properties.engines.base import Engine, Ops
from properties.invariants import cache, metadata, values
from properties.verdict import Violation
from tests.meta.candidates import plain
from tests.meta.candidates.faults import FAULTS, Fault, faulty

DTYPE = "bf16"  # the dtype of the models; its rounding shows faults that fp32 hides
NUMBERS = strategies.forwards(DTYPE, activations=ACTIVATIONS)
PROPERTIES: dict[Any, Any] = {
    values.dense_bound: strategies.numbers(DTYPE),
    values.dense_exact: strategies.forwards(DTYPE),
    values.one_hot_taps: strategies.forwards(DTYPE, ("codes",), residuals=(False,)),
    cache.stores_inputs: strategies.forwards(DTYPE, ("exact", "tiny", "huge"), ACTIVATIONS),
    cache.write_frame: NUMBERS,
    cache.read_frame: NUMBERS,
    cache.table_frame: NUMBERS,
    metadata.searchsorted: strategies.metadata(),
    metadata.refuses: strategies.metadata(),
}
JUDGING = settings(
    max_examples=60, database=None, deadline=None, derandomize=True,
    suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
)  # fmt: skip  # the same cases each time: a test of the judge must not turn on luck


def bound(name: str, module: Any) -> Ops:
    """A module's operators on the host."""
    operators = {operator: getattr(module, operator) for operator in OPERATORS}
    return Engine().bind(Candidate(name, Path(name), "none", operators))


class Enough(BaseException):
    """Ends shrinking; a count of calls, not a time, so that the test says the same on any machine."""


def judge(ops: Ops, invariant: Callable[..., None], shrinking: int = 0) -> Violation | None:
    """The smallest violation of one property after that many calls of shrinking, or None."""
    smallest: list[Violation] = []
    left = shrinking

    @JUDGING
    @given(PROPERTIES[invariant])
    def every(case: Any) -> None:
        nonlocal left
        if smallest and left <= 0:
            raise Enough
        left -= bool(smallest)
        try:
            invariant(ops, case)
        except Violation as violation:
            if not smallest or len(repr(case)) <= len(repr(smallest[0].case)):
                smallest[:] = [violation]
            raise

    try:
        every()
    except (Violation, Enough):
        return smallest[0]
    return None


@pytest.fixture(autouse=True)
def own_counts(monkeypatch):
    """Keeps what faults violate out of the run's own verdicts."""
    monkeypatch.setattr("properties.tally.COUNTS", {})


@pytest.mark.parametrize("invariant", PROPERTIES, ids=lambda invariant: invariant.entry.name)
def test_the_plain_candidate_holds(invariant):
    """Accuses a correct candidate of nothing."""
    assert judge(bound("plain", plain), invariant) is None


@remembered
def properties_of(group: str) -> list[Any]:
    """The invariants of a group."""
    return [invariant for invariant in PROPERTIES if invariant.entry.group == group]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_each_fault_is_caught(fault: Fault):
    """Finds a violation in the group that the fault belongs to."""
    ops = bound(fault.name, faulty(fault.name))
    found = next(filter(None, (judge(ops, invariant) for invariant in properties_of(fault.group))), None)
    assert found, f"{fault.name} ({fault.summary}) was not caught by {fault.group}"
    assert found.property_name.split(".")[0] == fault.group


@pytest.mark.parametrize("name", ["taps_reversed", "residual_dropped", "window_lost", "off_s_ignored_on_read"])
def test_shrinks_to_a_few_rows(name):
    """Needs at most 400 calls to a case of one or two requests and W + 2 rows."""
    found = judge(bound(name, faulty(name)), values.dense_exact, shrinking=400)
    assert found is not None
    smallest: Any = found.case
    assert len(smallest.requests) <= 2
    assert smallest.T <= smallest.geometry.W + 2
