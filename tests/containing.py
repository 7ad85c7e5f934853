"""Lost workers: the case that ended one is told, what it had counted is kept, and another goes on (docs/workers.md)."""

from __future__ import annotations

import faulthandler
import getpass
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from properties import journal, tally
from properties.losses import ASKED, Ending, Limits, Loss, Watch, ask, ending, last_line, usage
from properties.report.document import property_of
from tests.keys import JUDGE
from tests.progress import Beat
from tests.reproducing import asked_folder, replayed, replaying, told

FOLDER = "judge_journals"  # what workers are told under: where to write
PATIENCE = 10.0  # seconds for a process that is cut off to come to its end
CHECKOUT = hashlib.sha256(os.fsencode(Path(__file__).parents[1])).hexdigest()[:12]  # whose notes are no other's
WITHOUT_WORKERS = Path(tempfile.gettempdir()) / f"sconv-judge-{getpass.getuser()}-{CHECKOUT}"
JOURNAL = ".journal"  # of a worker's file
STACK = ".stack"  # of a worker's file for what Python says as it faults
NO_SCRIPT = "a script is run before it is kept, and this case ends, blocks or fills the process that runs it"
AT_ONCE = 3  # workers that end before they have collected the tests: the next one would as well


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("judge")
    seconds = "of the processor that one call of an operator may take in a worker, five times as many by the clock (60)"
    group.addoption("--call-limit", type=float, default=60.0, metavar="SECONDS", help=seconds)
    group.addoption("--call-memory", type=float, default=8.0, metavar="GIB", help="that one call may take (8)")


def pytest_configure(config: pytest.Config) -> None:
    """Lets xdist replace workers for as long as there are tests: its own limit is four times their number."""
    for name in ("--call-limit", "--call-memory"):
        if not config.getoption(name) > 0:
            raise pytest.UsageError(f"{name} must be more than 0, not {config.getoption(name):g}")
    if getattr(config.option, "maxworkerrestart", "") is None:
        config.option.maxworkerrestart = str(2**31)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begins a journal; in the controller of workers, begins to watch theirs."""
    config = session.config
    if hasattr(config, "workerinput"):
        path = Path(config.workerinput[FOLDER]) / f"{config.workerinput['workerid']}{JOURNAL}"
        journal.begin(path, is_read=True)
        config.pluginmanager.register(Worker(config, path.with_suffix(STACK)))
    elif config.pluginmanager.hasplugin("dsession"):
        config.pluginmanager.register(Controller(config))
    else:
        with suppress(OSError):  # a machine without a place for it
            WITHOUT_WORKERS.mkdir(mode=0o700, exist_ok=True)
            subject = config.stash[JUDGE].ops.candidate.target
            journal.begin(WITHOUT_WORKERS / str(os.getpid()), is_read=False, subject=subject)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Takes the journal of a run without workers away; those of workers are the controller's."""
    if not hasattr(config, "workerinput"):
        journal.end()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Tells of a run without workers that ended in a call."""
    lines = []
    for path in sorted(WITHOUT_WORKERS.glob("*")) if "workerinput" not in vars(config) else []:
        call, record = journal.call_of(path), journal.record_of(path)
        if call is None or usage(call.process, 0.0) is not None:
            continue
        path.unlink(missing_ok=True)
        is_there = not record.subject.endswith(".py") or Path(record.subject).exists()  # a mutant's file is gone
        if call.called and record.case and is_there:
            again = replayed(config.rootpath, record.subject, record.property_name, record.case)
            lines.append(f"note: an earlier run without workers ended in a call of {call.called}: {again}")
    return lines


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Notes which test is run."""
    journal.testing(item.nodeid)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Judges nothing on a device that an earlier test broke; a worker would have been replaced by then."""
    name = property_of(item.nodeid)
    if name and item.config.stash[JUDGE].engine.is_lost():
        why = "an earlier call broke the device for this process; with workers (-n 1) it is replaced"
        tally.COUNTS.setdefault(name, tally.Count()).reasons.add(why)
        pytest.fail(f"not judged [{name}]: {why}", pytrace=False)


class Worker:
    """A worker's side: sends what it has counted along with each test, lest it is lost."""

    def __init__(self, config: pytest.Config, stack: Path) -> None:
        self.judge = config.stash[JUDGE]
        self.stack = stack.open("w")
        faulthandler.enable(self.stack)  # pytest's own would write it to the terminal, where it says little
        faulthandler.register(ASKED, self.stack, all_threads=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attaches all counts so far to the last result of a test."""
        result = yield
        if result.when == "teardown":
            result.travelled = self.judge.travel()  # type: ignore[attr-defined]  # results take more
        return result


class Controller:
    """The controller's side: watches calls, collects counts, and tells of lost workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.judge, self.with_data = config.stash[JUDGE], config.getoption("--report")
        self.folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        self.counts: dict[str, dict[str, object]] = {}  # of workers whose counts have not come home to the end
        self.ended: dict[str, Loss] = {}  # workers that were ended from here
        self.collected: set[str] = set()
        self.lost_at_once = 0
        watch = Watch(Limits(config.getoption("--call-limit"), config.getoption("--call-memory")))
        self.beat = Beat(partial(self.look, watch))

    def look(self, watch: Watch) -> None:
        """Ends the workers whose calls pass a limit."""
        for path in self.folder.glob(f"*{JOURNAL}"):
            call = journal.call_of(path)
            used = usage(call.process, time.monotonic()) if call else None
            if call and used and path.stem not in self.ended and (excess := watch.excess(call, used)):
                record = journal.record_of(path)
                at = ask(call.process, path.with_suffix(STACK), self.judge.ops.candidate.path)
                self.ended[path.stem] = Loss(property_of(record.test) or "", Ending(excess, True), record, call, at)
                with suppress(OSError):  # it has just ended by itself
                    os.kill(call.process, signal.SIGKILL)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tells a worker where to write."""
        node.workerinput[FOLDER] = str(self.folder)
        self.counts[node.gateway.id] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Notes that a worker has come as far as that."""
        self.collected.add(node.gateway.id)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps the newest counts of each worker."""
        if travelled := vars(report).pop("travelled", None):
            self.counts[report.node.gateway.id] = travelled

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Takes a worker's counts home, of a lost one those that came with its tests; xdist may say it twice."""
        known = self.counts.pop(node.gateway.id, {})
        self.judge.collect(getattr(node, "workeroutput", None) or known)
        if error and node.gateway.id not in self.collected:
            self.lost_at_once += 1
            if self.lost_at_once >= AT_ONCE:
                pytest.exit(f"{AT_ONCE} workers ended before they had collected the tests", returncode=1)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Makes of a lost worker what it says of the property that was judged."""
        if (name := property_of(crashitem)) is None:
            return  # a test of the judge's own
        loss = self.loss_of(report.node, name, crashitem)
        found, record = loss.violation(), loss.record
        self.stop_where_asked()
        report.location = (*report.location[:2], crashitem.partition("::")[2])  # its name, which xdist leaves out
        loss.count(found)
        again = [f"Failing case: {record.case}", ""] if record.case and not found else []
        if record.case:
            again.append(f"Reproduce:    {replaying(self.config, self.judge.ops, record.property_name, record.case)}")
        if found is not None and asked_folder(self.config):
            again.append(f"No script:    {NO_SCRIPT}")
        if found is None:
            report.longrepr = "\n".join([f"not judged [{name}]: {loss.why_not()}", *again])
            return
        report.longrepr = "\n".join([f"{found}", "The process was lost in this case, which is not shrunk.", *again])
        report.violated = found.property_name, repr(found.case)  # type: ignore[attr-defined]  # as in once.py
        if self.with_data:
            report.violation = told(self.config, found)  # type: ignore[attr-defined]  # as in reporting.py

    def loss_of(self, node: Any, name: str, test: str) -> Loss:
        """How a worker was lost that ran a test of a property: as it was ended from here, or as it ended itself."""
        path = self.folder / f"{node.gateway.id}{JOURNAL}"
        if (cut := self.ended.get(node.gateway.id)) and cut.record.test == test:
            return cut
        record, call = journal.record_of(path), journal.call_of(path)
        if record.test != test:
            record, call = journal.Record(), None
        ended = Ending(record.left, True) if record.left else cut.ended if cut else _ending(node)
        return Loss(name, ended, record, call, last_line(_text(path.with_suffix(STACK)), self.judge.ops.candidate.path))

    def stop_where_asked(self) -> None:
        """Ends the run at the failure that -x or --maxfail names; xdist counts no lost worker among them."""
        most, session = self.config.getoption("maxfail"), self.config.pluginmanager.getplugin("session")
        if most and session is not None and session.testsfailed + 1 >= most:  # this one is counted once it is told
            self.config.pluginmanager.getplugin("dsession").shouldstop = f"stopping after {most} failures"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Stops to watch."""
        self.beat.stop()

    def pytest_unconfigure(self) -> None:
        """Takes the journals away, once all workers are."""
        self.beat.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _ending(node: Any) -> Ending:
    """How a worker's process ended; execnet, which started it, has no public word for it."""
    process = getattr(getattr(node.gateway, "_io", None), "popen", None)
    if process is None:
        return ending(None)
    try:
        return ending(process.wait(PATIENCE))
    except subprocess.TimeoutExpired:
        process.kill()
        return Ending("cut itself off from the run", True)
