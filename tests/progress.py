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

from properties import number_words, tally
from tests.judging import DTYPES
from tests.keys import JUDGE

SECONDS = 0.5  # between two lines
OVER_THE_LAST = "\r\x1b[2K"  # the cursor to the line's begin, and the line emptied
FOLDER = "judge_progress"  # what workers are told under: where to write


class Beat:
    """Does something every half second beside the main thread, until it is stopped."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action, self.is_over, self.lock = action, threading.Event(), threading.Lock()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def now(self) -> None:
        """Does it, in whichever thread asks, never in two at the same time."""
        with self.lock:
            self.action()

    def _run(self) -> None:
        while not self.is_over.wait(SECONDS):
            self.now()

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
    """The line: the share of the profile's budget that is used, the time left, and what all processes have judged."""

    stream: Any
    folder: Path
    own: Callable[[], dict[str, Any]]
    begun: float = field(default_factory=time.monotonic)
    finished: int = 0  # cases of the profile's budget, of tests that are over
    total: int = 0
    beat: Beat | None = None
    home: set[str] = field(default_factory=set)  # workers that are no more: the controller has added their counts

    def line(self, now: float) -> str:
        """The words of this moment, in seconds of the monotonic clock."""
        paths = [path for path in self.folder.glob("*.json") if path.stem not in self.home]
        every = [self.own(), *(json.loads(path.read_text()) for path in paths)]
        violated = set().union(*(one["violated"] for one in every))
        compiled = sum(max(0, one["specialisations"]) for one in every)
        share = min(1.0, self.finished / max(1, self.total))
        left = int((now - self.begun) * (1 - share) / share) if share else None
        return (  # within 80 columns, what matters most first: a narrower terminal cuts the end
            f"{share:.0%}, {'time left unknown' if left is None else f'{left // 60}:{left % 60:02} left'}; "
            f"{number_words.counted(sum(one['judged'] for one in every), 'case')}, "
            f"{number_words.counted(len(violated), 'property', 'properties')} violated, "
            f"{number_words.counted(compiled, 'specialisation')}"
        )

    def show(self) -> None:
        """Writes the line over the last one, cut to the terminal's width so that it stays one line."""
        width = os.get_terminal_size(self.stream.fileno()).columns or 80  # 0: a terminal that does not know
        self.stream.write(f"{OVER_THE_LAST}{self.line(time.monotonic())[: width - 1]}")
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
    def pytest_testnodedown(self, node: Any) -> None:
        """Adds a worker up no longer, whether it is done or lost."""
        self.home.add(node.gateway.id)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        """Begins, in a run with workers, which all collect the same."""
        self.begin(node.config, ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begins, in a run without workers."""
        self.begin(session.config, [item.nodeid for item in session.items])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts a test that is over, at its teardown or with its worker."""
        if report.when not in ("setup", "call") and self.beat is not None:
            self.finished += budget(report.nodeid)
            self.beat.now()

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
            self.stream.write(OVER_THE_LAST)
        self.stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Telling:
    """An xdist worker's side: tells what it has judged, until its process ends."""

    def __init__(self, path: Path, config: pytest.Config) -> None:
        self.beat = Beat(partial(write, path, config))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self) -> None:
        """Tells it before xdist tells the controller that a test is over, so that no count lags behind the tests."""
        self.beat.now()


def is_wanted(config: pytest.Config) -> bool:
    """Whether somebody sees the line: on a terminal, without -q or -v."""
    if config.option.verbose != 0 or config.option.collectonly:
        return False
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and "CI" not in os.environ


def pytest_sessionstart(session: pytest.Session) -> None:
    """Shows progress where it is wanted; here, not in pytest_configure, since a wrong request ends before."""
    config = session.config
    if hasattr(config, "workerinput"):
        if FOLDER in config.workerinput:
            path = Path(config.workerinput[FOLDER]) / f"{config.workerinput['workerid']}.json"
            config.pluginmanager.register(Telling(path, config))
    elif is_wanted(config):
        # a stream of its own: while a test runs without workers, pytest has taken sys.stdout and its descriptor
        stream = os.fdopen(os.dup(sys.stdout.fileno()), "w")
        folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        config.pluginmanager.register(Progress(stream, folder, partial(counted, config)))
