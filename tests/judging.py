"""How a test judges one invariant: over a strategy, with one clean failure."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy, sampled_from

from properties import tally
from properties.engines.base import Ops
from properties.verdict import NotJudged, Violation

DTYPES = ("bf16", "fp16", "fp32")


def judge(
    request: pytest.FixtureRequest,
    ops: Ops,
    invariant: Callable[[Any, Any], None],
    cases: SearchStrategy[Any],
    *pinned: Any,
    share: float = 1.0,
) -> None:
    """Calls `invariant(ops, case)` for as many drawn cases as the profile says, then for every pinned one.

    A test that is not one of three dtypes draws three times as many; one of costly cases only a `share` of them.
    Autotuned kernels run in a configuration that is drawn as well; pinned cases are judged in all of them.
    """
    __tracebackhide__ = True
    entry: tally.Property = invariant.entry  # type: ignore[attr-defined]  # set by tally.invariant
    if excuse := entry.excuse(ops):
        _leave(entry, excuse)

    patience = Patience()

    def every_case(case: Any, choice: int) -> None:
        __tracebackhide__ = True
        patience.run(invariant, ops.configured(choice), case)

    # Hypothesis files failures under the function's name and source: one name per property and dtype.
    every_case.__name__ = every_case.__qualname__ = re.sub(r"\W", "_", request.node.name)
    count = round(share * settings().max_examples * (1 if "dtype" in request.fixturenames else len(DTYPES)))
    choices = range(ops.configurations)
    test = settings(max_examples=count)(given(cases, sampled_from(choices))(every_case))
    found: Exception | None = None
    try:
        test()
        # last, since Hypothesis would tell a failing one as it is, and pinned cases are large
        for case, choice in product(pinned, choices):
            invariant(ops.configured(choice), case)
    except (Violation, NotJudged) as error:
        found = error
    except OutOfPatience:
        found = patience.smallest
    if found is not None and not isinstance(found, (Violation, NotJudged)):
        raise found
    if found is not None:
        words = str(found) if isinstance(found, Violation) else f"not judged [{entry.name}]: {found}"
        pytest.fail(f"{words}\n{_reproduce(request, ops)}", pytrace=False)


class OutOfPatience(BaseException):
    """Ends a test whose time for shrinking is over; Hypothesis lets it pass, and has stored its smallest case."""


class Patience:
    """Bounds the time spent on shrinking: the first failures of a process get the most."""

    seconds = 6.0  # for the first failing test of a process, half of it for the second, a third for the next
    least = 1.0
    failures = 0  # of this process, over all tests

    def __init__(self) -> None:
        self.deadline: float | None = None
        self.smallest: Exception | None = None
        self.length = 0

    def run(self, invariant: Callable[[Any, Any], None], ops: Ops, case: Any) -> None:
        """Judges a case, or ends the test once a failure is known and its time is over."""
        __tracebackhide__ = True
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfPatience
        try:
            invariant(ops, case)
        except Exception as error:  # also the judge's own failures: shrinking them may take minutes
            if self.deadline is None:
                Patience.failures += 1
                self.deadline = time.monotonic() + max(self.least, self.seconds / Patience.failures)
            if self.smallest is None or len(repr(case)) <= self.length:
                self.smallest, self.length = error, len(repr(case))
            raise


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
    root, python = request.config.rootpath, Path(sys.executable)
    shown = python.relative_to(root) if python.is_relative_to(root) else python
    command = f"{shown} -m pytest '{request.node.nodeid}'"
    return f"Reproduce:    {command} --candidate {ops.candidate.target} --engine {ops.engine.name}"
