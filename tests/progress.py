"""One line of progress while a run lasts, in place, on a terminal; xdist's workers tell it through files."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from properties import tally
from tests.judging import DTYPES
from tests.keys import JUDGE

SECONDS = 0.5  # between two lines
FOLDER = "judge_progress"  # what workers are told under: where to write


class Beat:
    """Does something every half second, beside the main thread, until it is stopped."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action, self.is_over = action, threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while not self.is_over.wait(SECONDS):
            self.action()

    def stop(self) -> None:
        """Waits until the action is not running and will not run again."""
        self.is_over.set()
        self.thread.join()


def counted(config: pytest.Config) -> dict[str, Any]:
    """What this process has judged so far."""
    counts = dict(tally.COUNTS)
    return {
        "judged": sum(count.judged for count in counts.values()),
        "violated": [name for name, count in counts.items() if count.violated],
        "specialisations": config.stash[JUDGE].engine.specialisations(),
    }


def write(path: Path, config: pytest.Config) -> None:
    """Replaces a worker's file, which is never seen half written."""
    new = path.with_suffix(".new")
    with suppress(OSError):  # the run is over and the folder gone
        new.write_text(json.dumps(counted(config)))
        os.replace(new, path)


def budget(nodeid: str) -> int:
    """The cases that the profile gives a test, before the share that costly ones take of it."""
    has_dtype = any(f"[{dtype}" in nodeid for dtype in DTYPES)
    return int(settings().max_examples) * (1 if has_dtype else len(DTYPES))


@dataclass
class Progress:
    """The line: what all processes have judged, and the time left, extrapolated from the budget of finished tests."""

    stream: Any
    profile: str
    folder: Path
    own: Callable[[], dict[str, Any]]
    begun: float = field(default_factory=time.monotonic)
    finished: int = 0  # cases of the profile's budget, of tests that are over
    total: int = 0
    beat: Beat | None = None

    def line(self, now: float) -> str:
        """The words of this moment, in seconds of the monotonic clock."""
        every = [self.own(), *(json.loads(path.read_text()) for path in self.folder.glob("*.json"))]
        violated = set().union(*(one["violated"] for one in every))
        compiled = sum(max(0, one["specialisations"]) for one in every)
        share = min(1.0, self.finished / max(1, self.total))
        left = (now - self.begun) * (1 - share) / share if share else None
        return (
            f"{sum(one['judged'] for one in every):,} cases judged, "
            f"{len(violated)} {'property' if len(violated) == 1 else 'properties'} violated, "
            f"{compiled:,} specialisations compiled; {share:.0%} of profile {self.profile}, "
            + ("time left not known yet" if left is None else f"about {int(left) // 60}:{int(left) % 60:02} left")
        )

    def show(self) -> None:
        """Writes the line over the last one, cut to the terminal's width so that it stays one line."""
        width = os.get_terminal_size(self.stream.fileno()).columns or 80  # 0: a terminal that does not know
        self.stream.write(f"\r\x1b[2K{self.line(time.monotonic())[: width - 1]}")
        self.stream.flush()

    def begin(self, config: pytest.Config, ids: list[str]) -> None:
        """Adds up the budget of the tests, and shows the line from now on."""
        if self.beat is None and ids:
            self.total = sum(map(budget, ids))
            config.pluginmanager.getplugin("terminalreporter").showfspath = False
            self.beat = Beat(self.show)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tells an xdist worker where to write."""
        node.workerinput[FOLDER] = str(self.folder)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        """Begins, in a run with workers, which all collect the same."""
        self.begin(node.config, ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begins, in a run without workers."""
        self.begin(session.config, [item.nodeid for item in session.items])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts a test that is over."""
        if report.when == "teardown":
            self.finished += budget(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, tuple[str, str, str], tuple[str, str, str]]:
        """Takes the place of the dots, which would stand in the line."""
        category, *_ = yield
        return category, "", ""  # how pytest's wrappers give a result

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Takes the line away before the summary is written."""
        if self.beat is not None:
            self.beat.stop()
            self.stream.write("\r\x1b[2K")
        self.stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    """Shows progress where there is somebody to see it: on a terminal, without -q or -v."""
    if hasattr(config, "workerinput") or config.option.verbose != 0 or config.option.collectonly:
        return
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb" or "CI" in os.environ:
        return
    profile = config.getoption("--hypothesis-profile") or "pr"
    # a stream of its own: while a test runs without workers, pytest has taken sys.stdout and its descriptor
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    folder = Path(tempfile.mkdtemp(prefix=FOLDER))
    config.pluginmanager.register(Progress(stream, profile, folder, partial(counted, config)))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Lets a worker tell what it has judged, until its process ends."""
    worker = getattr(session.config, "workerinput", {})
    if FOLDER in worker:
        path = Path(worker[FOLDER]) / f"{worker['workerid']}.json"
        Beat(partial(write, path, session.config))
