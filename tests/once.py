"""One block for each violated property: where several tests violate the same one, only the first tells all of it."""

from __future__ import annotations

import pytest

told: dict[str, str] = {}  # property -> the test that told it


@pytest.hookimpl(trylast=True)  # after whatever else keeps the whole text, such as --junitxml
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Cuts the failure of a property that was told already down to its first line; runs where reports arrive."""
    name = dict(report.user_properties).get("violated")
    if report.failed and name is not None:
        first = told.setdefault(str(name), report.nodeid)
        if first != report.nodeid:
            headline = next(line for line in report.longreprtext.splitlines() if line.strip())
            report.longrepr = f"{headline}\n(told in full by {first})"
