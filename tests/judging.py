"""How a test judges one invariant: over a strategy, with one clean failure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis.strategies import SearchStrategy

from properties import tally
from properties.engines.base import Ops
from properties.verdict import NotJudged, Violation

DTYPES = ("bf16", "fp16", "fp32")


def judge(
    request: pytest.FixtureRequest, ops: Ops, invariant: Callable[[Any, Any], None], cases: SearchStrategy[Any], *pinned: Any
) -> None:
    """Calls `invariant(ops, case)` for every pinned case and for as many drawn ones as the profile says."""
    __tracebackhide__ = True
    entry: tally.Property = invariant.entry  # type: ignore[attr-defined]  # set by tally.invariant
    if excuse := entry.excuse(ops):
        _leave(entry, excuse)

    def every_case(case: Any) -> None:
        invariant(ops, case)

    # Hypothesis files failures under the function's name and source: one name per property and dtype.
    every_case.__name__ = every_case.__qualname__ = re.sub(r"\W", "_", request.node.name)
    test = given(cases)(every_case)
    for case in pinned:
        test = example(case)(test)
    try:
        test()
    except Violation as violation:
        pytest.fail(f"{violation}\n{_reproduce(request, ops)}", pytrace=False)
    except NotJudged as reason:
        pytest.fail(f"not judged [{entry.name}]: {reason}\n{_reproduce(request, ops)}", pytrace=False)


def dtype_or_leave(ops: Ops, dtype: str) -> str:
    """The dtype, unless the engine cannot judge it: then the test is skipped with the reason."""
    if why := ops.engine.unjudged_dtypes.get(dtype):
        pytest.skip(f"{dtype} not judged: {why}")
    return dtype


def _leave(entry: tally.Property, excuse: str) -> None:
    count = tally.COUNTS.setdefault(entry.name, tally.Count())
    count.reasons.add(excuse)
    count.excused = True
    pytest.skip(f"not judged [{entry.name}]: {excuse}")


def _reproduce(request: pytest.FixtureRequest, ops: Ops) -> str:
    return f"Reproduce:    pytest '{request.node.nodeid}' --candidate {ops.name} --engine {ops.engine.name}"
