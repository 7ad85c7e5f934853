"""One block for each violated property, or bug of it: of the tests, that of the smallest case tells all of it."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from properties.report.document import property_of, variant
from properties.verdict import by_size
from tests.keys import FOUND


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attaches the violated property and its case to a test's result; xdist sends both to the controller."""
    result = yield
    if result.failed and (found := item.stash.get(FOUND, None)):
        result.violated = found.property_name, repr(found.case)  # type: ignore[attr-defined]  # results take more
    return result


def pytest_configure(config: pytest.Config) -> None:
    """Begins to collect failures."""
    config.pluginmanager.register(Once(), "the judge's once")


class Once:
    """Collects the failures of each property; once all are known, one of them remains whole.

    A property with a test for each of several bugs keeps one of each.
    """

    def __init__(self) -> None:
        self.failed: dict[tuple[str, str], list[pytest.TestReport]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps a failure; whoever else keeps its text, such as --junitxml, has all of it."""
        if found := getattr(report, "violated", None):
            its_own = variant(report.nodeid) if property_of(report.nodeid) == found[0] else ""
            self.failed.setdefault((found[0], its_own), []).append(report)

    def pytest_sessionfinish(self) -> None:
        """Cuts all but the smallest of a property down to their first lines, before pytest prints them."""
        for reports in self.failed.values():
            first, *others = sorted(reports, key=_order)
            for report in others:
                report.longrepr = f"{_headline(report.longreprtext)}\n(told in full by {first.nodeid})"


def _order(report: pytest.TestReport) -> tuple[tuple[int, str], str]:
    _, case = report.violated
    return by_size(case), report.nodeid


def _headline(text: str) -> str:
    """The violation's first line; xdist says before it who saw it."""
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("Violation")), lines[0])
