"""A property that several tests violate: told in full by the first, in its first line by the others."""

from __future__ import annotations

from types import SimpleNamespace

from tests import once

TEXT = "\nViolation: out[row 0] = 1, but should be 2   [values.unbiased]\n\nLet:   one row\n"


def told(test: str, text: str, name: str = "values.unbiased") -> str:
    """What is left of a failure's text."""
    report = SimpleNamespace(
        failed=True, nodeid=test, longrepr=text, longreprtext=text, user_properties=[("violated", name)]
    )
    once.pytest_runtest_logreport(report)  # type: ignore[arg-type]  # all that it asks of a report
    return str(report.longrepr)


def test_the_first_line_of_others(monkeypatch):
    """Is the violation's, also where xdist puts the worker's name before it."""
    monkeypatch.setattr(once, "told", {})
    assert told("first", TEXT) == TEXT
    short = "Violation: out[row 0] = 1, but should be 2   [values.unbiased]\n(told in full by first)"
    assert told("second", TEXT) == short
    assert told("third", f"[gw0] linux -- Python 3.11.7 /bin/python{TEXT}") == short
    assert told("first", TEXT) == TEXT
    assert told("fourth", TEXT, "values.dense_exact") == TEXT
