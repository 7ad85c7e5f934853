"""The plugin behind `--report DIR`: takes what tests found to the controller, and writes the report there."""

from __future__ import annotations

import time
from collections.abc import Generator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from properties.judge import Judge
from properties.report import write
from properties.report.document import Outcome, Run, document, property_of
from tests.keys import FOUND, JUDGE, SHARD, path_of
from tests.reproducing import told


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    told = "write report.md, report.html and report.json there"
    parser.getgroup("judge").addoption("--report", metavar="DIR", help=told)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Begins to collect, once the candidate is loaded."""
    config.pluginmanager.register(Reporter(config, config.stash[JUDGE]), "the judge's reporter")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attaches a test's violation, as data, to its result; xdist sends both to the controller."""
    result = yield
    if result.failed and (violation := item.stash.get(FOUND, None)) and item.config.getoption("--report"):
        result.violation = told(item.config, violation)  # type: ignore[attr-defined]  # results take more, and are sent
    return result


class Reporter:
    """Collects the results of a run, tells the seconds of each group, and writes the report where one is asked for."""

    def __init__(self, config: pytest.Config, judge: Judge) -> None:
        self.config, self.judge = config, judge
        self.folder = asked_folder(config)
        self.begin = time.time()
        self.outcomes: list[Outcome] = []
        self.line = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps what a test came to; of its setup and teardown only what kept it from passing."""
        if report.when == "call" or not report.passed:
            violation = getattr(report, "violation", None)
            self.outcomes.append(Outcome(report.nodeid, report.outcome, report.duration, words(report), violation))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes the report, once the workers' counts have come home and the exit code is known."""
        if self.folder is None or hasattr(self.config, "workeroutput"):
            return
        started = datetime.fromtimestamp(self.begin, timezone.utc).isoformat(timespec="seconds")
        run = Run(
            profile=self.config.getoption("--hypothesis-profile") or "pr",
            seed=self.config.getoption("--hypothesis-seed"),
            started=started,
            seconds=round(time.time() - self.begin, 3),
            exit_code=int(session.exitstatus),
            shard=str(self.config.stash[SHARD]) if SHARD in self.config.stash else None,
        )
        try:
            self.line = f"report: {', '.join(map(str, write(document(self.judge, run, self.outcomes), self.folder)))}"
        except OSError as error:
            self.line = f"report: not written: {error}"
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Says under the verdicts how long each group took, and where the report is."""
        if seconds := self.seconds():
            taken = ", ".join(
                f"{group} {count:.0f}" for group, count in sorted(seconds.items(), key=lambda one: -one[1])
            )
            terminalreporter.write_line(f"seconds of all processes: {taken}")
        if self.line:
            terminalreporter.write_line(self.line)

    def seconds(self) -> dict[str, float]:
        """Seconds of the tests of each group."""
        found: dict[str, float] = {}
        for one in self.outcomes:
            if name := property_of(one.id):
                group = name.partition(".")[0]
                found[group] = found.get(group, 0.0) + one.seconds
        return found


def asked_folder(config: pytest.Config) -> Path | None:
    """The folder of `--report`, made if it is not there; raises UsageError where it cannot be one."""
    if not (asked := config.getoption("--report")):
        return None
    folder = path_of(config, asked)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"--report {asked!r} cannot be a folder: {error.strerror}") from None
    return folder


def words(report: pytest.TestReport) -> str:
    """What a test says of itself: its failure, or why it was skipped; without the worker that xdist puts before it."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return str(report.longrepr or "").strip()
