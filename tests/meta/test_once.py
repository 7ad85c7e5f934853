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


def test_the_bugs_of_one_property():
    """Are told in full each, by the smallest case of their dtypes."""
    test = "tests/test_history.py::test_public_bugs[{}]"
    names = [test.format(one) for one in ("bf16-recycled_nan", "fp16-recycled_nan", "bf16-rejected_drafts")]
    reports = [
        failure(name, case, name="history.public_bugs")
        for name, case in zip(names, ("F(1)", "F", "F(22)"), strict=True)
    ]
    assert told(*reports) == [SHORT.format(names[1]), TEXT, TEXT]


def test_a_property_that_another_test_has_seen():
    """Is told once: whose test it was says nothing of it."""
    names = [f"tests/test_history.py::test_public_bugs[bf16-{one}]" for one in ("recycled_nan", "rejected_drafts")]
    reports = [failure(name, case, name="cache.process_frame") for name, case in zip(names, ("F(1)", "F"), strict=True)]
    assert told(*reports) == [SHORT.format(names[1]), TEXT]


def test_other_properties():
    """Are told in full too, and what violates none stays as it is."""
    passed = SimpleNamespace(nodeid="d", longrepr=None)
    reports = failure("a", "F(1)"), failure("b", "F(2)", name="values.dense_exact")
    assert told(*reports, passed) == [TEXT, TEXT, "None"]
