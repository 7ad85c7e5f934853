"""A property that several tests violate: told in full by the one with the smallest case, in a line by the others."""

from __future__ import annotations

from types import SimpleNamespace

from tests.once import Once

TEXT = "\nViolation: out[row 0] = 1, but should be 2   [values.unbiased]\n\nLet:   one row\n"
SHORT = "Violation: out[row 0] = 1, but should be 2   [values.unbiased]\n(told in full by {})"


def failure(test: str, case: str, text: str = TEXT, name: str = "values.unbiased") -> SimpleNamespace:
    """What is asked of a failing test's report."""
    return SimpleNamespace(nodeid=test, longrepr=text, longreprtext=text, violated=(name, case))


def told(*reports: SimpleNamespace) -> list[str]:
    """What is left of the texts of failures at the end of a run."""
    once = Once()
    for report in reports:
        once.pytest_runtest_logreport(report)  # type: ignore[arg-type]  # all that it asks of a report
    once.pytest_sessionfinish()
    return [str(report.longrepr) for report in reports]


def test_the_first_line_of_others():
    """Is the violation's, also where xdist puts the worker's name before it; the smallest case may come last."""
    others = [failure("a", "Forward(seed=1)"), failure("b", "Forward(seed=10)", f"[gw0] linux -- Python 3.11{TEXT}")]
    assert told(*others, failure("c", "Forward()")) == [SHORT.format("c"), SHORT.format("c"), TEXT]


def test_cases_of_one_size():
    """Are ordered by their text, then by the test, whichever arrives first."""
    reports = failure("b", "F(1)"), failure("a", "F(1)"), failure("c", "F(2)")
    assert told(*reports) == [SHORT.format("a"), TEXT, SHORT.format("a")]


def test_other_properties():
    """Are told in full too, and what violates none stays as it is."""
    passed = SimpleNamespace(nodeid="d", longrepr=None)
    reports = failure("a", "F(1)"), failure("b", "F(2)", name="values.dense_exact")
    assert told(*reports, passed) == [TEXT, TEXT, "None"]
