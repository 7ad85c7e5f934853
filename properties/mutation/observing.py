"""A pytest plugin that ends a run at the first violation and writes down what it was.

The run's environment names the file: MUTATION_RESULT. MUTATION_SHRINK has the seconds for shrinking a failure, and
MUTATION_ALL is 1 where the run goes on to find everything that is violated.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from properties import tally

START = time.monotonic()


class Observer:
    """What a run has seen so far; `write` puts it where the parent reads it, after every test."""

    def __init__(self) -> None:
        self.seen: dict[str, Any] = {"killed_by": [], "test": "", "durations": {}, "failed": "", "seconds": 0.0}
        self.seen["red"] = []  # tests that failed
        self.path = Path(os.environ["MUTATION_RESULT"])
        self.session: Any = None

    def take_down(self, words: str) -> None:
        """Names every property that has been violated by now; `words` are those of the last test's failure."""
        for name, count in tally.COUNTS.items():
            if count.violated and name not in self.seen["killed_by"]:
                self.seen["killed_by"].append(name)
                self.seen["seconds"] = self.seen["seconds"] or time.monotonic() - START
                self.seen.setdefault("example", words or next(iter(count.examples.values()), "")[:2000])

    def write(self) -> None:
        """Writes atomically: the parent may read, or kill, at any time."""
        self.seen["written"] = time.monotonic() - START
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(self.seen))
        draft.replace(self.path)


OBSERVER = Observer()


def pytest_sessionstart(session: Any) -> None:
    """Keeps the session, to stop it; a hazard that is seen while another property is judged ends the run at once."""
    OBSERVER.session = session
    if os.environ.get("MUTATION_ALL") == "1":
        return
    keep = tally.note

    def note(violation: Any) -> None:
        keep(violation)
        OBSERVER.take_down("")
        OBSERVER.seen |= {"exit": 1, "is_done": True}
        OBSERVER.write()
        os._exit(1)

    tally.note = note


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Judges first what the mutated function is part of."""
    first = os.environ.get("MUTATION_FIRST", "")
    items.sort(key=lambda item: _operator(item.nodeid) != first)


def _operator(nodeid: str) -> str:
    found = re.search(r"tests/test_(\w+)\.py::test_(\w+)", nodeid)
    entry = tally.CATALOGUE.get(f"{found[1]}.{found[2]}") if found else None
    return entry.operator if entry else ""


def pytest_collection_finish(session: Any) -> None:
    """Leaves little time for shrinking: a kill is a kill."""
    judging = sys.modules.get("tests.judging")
    if judging is not None:
        judging.Patience.seconds = float(os.environ.get("MUTATION_SHRINK", "1"))
        judging.Patience.least = 0.2


def pytest_runtest_logstart(nodeid: str) -> None:
    """Says which test runs."""
    OBSERVER.seen["test"] = nodeid
    OBSERVER.write()


def pytest_runtest_logreport(report: Any) -> None:
    """Takes down violations, of the test's own property or of one that was seen on the way."""
    seen = OBSERVER.seen
    if report.when == "call":
        seen["durations"][report.nodeid] = report.duration
    if report.failed:
        seen["red"].append(report.nodeid)
    OBSERVER.take_down(_words(report))
    if report.failed and not seen["killed_by"]:
        seen["failed"] = seen["failed"] or f"{report.nodeid}: {str(report.longrepr).strip()[-400:]}"
    if seen["killed_by"] and os.environ.get("MUTATION_ALL") != "1":
        OBSERVER.session.shouldstop = "killed"
    OBSERVER.write()


def pytest_sessionfinish(exitstatus: Any) -> None:
    """Says how the run ended, and that it did."""
    reasons = {name: sorted(one.reasons) for name, one in tally.COUNTS.items() if one.reasons and not one.excused}
    OBSERVER.seen |= {"exit": int(exitstatus), "not_judged": reasons, "is_done": True}
    OBSERVER.write()


def _words(report: Any) -> str:
    text = str(report.longrepr or "")
    found = re.search(r"Violation: .*", text, re.S)
    return found[0][:2000] if found else ""
