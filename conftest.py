"""Options, profiles, header and fixtures of the judge; the words come from `properties/judge.py`."""

from __future__ import annotations

import os
import re

import pytest
import torch
from hypothesis import HealthCheck, Phase, settings

from properties import catalogue
from properties.candidate import BadCandidate
from properties.engines import BadEngine
from properties.engines.base import Ops
from properties.judge import Judge
from properties.printable import is_text
from tests.keys import JUDGE

pytest_plugins = (
    "tests.reproducing",
    "tests.baselines",
    "tests.devices",
    "tests.once",
    "tests.progress",
    "tests.containing",
    "tests.reporting",
    "tests.skips",
    "tests.shards",
    "tests.databases",
)
GROUPS = sorted(catalogue.groups())

# Compiling a specialisation inside a case makes its time say nothing: no deadline, no too_slow. Profiles take
# the rest from Hypothesis's own: under CI that one draws the same cases in every run, and stores none.
PROFILES = {"pr": 40, "nightly": 2_400, "campaign": 24_000}
for profile, examples in PROFILES.items():
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        # What it explains nobody reads; where every case fails, Hypothesis 6.170 told one of its tries as the smallest.
        phases=[phase for phase in Phase if phase is not Phase.explain],
        report_multiple_bugs=False,  # a test is one property: one failure says it
    )
settings.load_profile("pr")  # --hypothesis-profile overrides it


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the judge's options."""
    group = parser.getgroup("judge", "judging a kernel file")
    group.addoption("--candidate", default="sconv", metavar="PATH|MODULE", help="what to judge (default: sconv)")
    group.addoption("--engine", default="auto", metavar="NAME", help="auto, cuda, ttir or interpreter")


def pytest_configure(config: pytest.Config) -> None:
    """Loads candidate and engine; a wrong request ends the run with one line and exit code 4."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        torch.set_num_threads(1)  # tensors are small and workers fill the cores: 34 s instead of 70 on two of them
    if fault := wrong_selection(config):
        raise pytest.UsageError(fault)
    target, engine, baseline = (config.getoption(name) for name in ("--candidate", "--engine", "--baseline"))
    try:
        config.stash[JUDGE] = Judge.from_options(target, engine, config.invocation_params.dir, baseline)
    except (BadCandidate, BadEngine) as error:
        raise pytest.UsageError(str(error)) from None


def wrong_selection(config: pytest.Config) -> str | None:
    """What is wrong with the arguments, markers or profile; xdist's workers would end in a traceback over it."""
    if bad := [str(one) for one in config.invocation_params.args if not is_text(one)]:
        return f"{bad[0]!r} has bytes that are no UTF-8, which no worker, report or script can be given: rename it"
    known = {line.split(":")[0] for line in config.getini("markers")}
    asked = set(re.findall(r"[a-z_]+", config.getoption("-m") or "")) - {"and", "or", "not"}
    if unknown := sorted(asked - known - {"skipif", "skip", "parametrize", "xfail", "usefixtures", "filterwarnings"}):
        return f"-m names {', '.join(unknown)}, which is no group; allowed: {', '.join(GROUPS)}"
    profile = config.getoption("--hypothesis-profile")
    if profile and profile not in PROFILES:
        return f"--hypothesis-profile {profile!r} is unknown; allowed: {', '.join(PROFILES)}"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Judges first what most faults violate; the judge's own tests and slower properties follow."""
    first = ("values", "metadata", "hazards", "cache", "sizes")
    items.sort(key=lambda item: min((first.index(m.name) for m in item.iter_markers() if m.name in first), default=9))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Says what is judged, on what, with which versions."""
    return config.stash[JUDGE].header(config.getoption("--hypothesis-profile") or "pr")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Sends a worker's counts off; in the controller, what no test failed for is no pass either."""
    judge = session.config.stash[JUDGE]
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput.update(judge.travel())
    elif session.exitstatus == pytest.ExitCode.OK and judge.failed():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints the verdict on every property that was tried."""
    if terminalreporter.stats.get("deselected") and not terminalreporter.stats.keys() & {"passed", "failed", "skipped"}:
        terminalreporter.write_line("nothing judged: no test is selected")
    if lines := config.stash[JUDGE].summary():
        terminalreporter.section("verdicts")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def ops(pytestconfig: pytest.Config) -> Ops:
    """The operators under judgement, on the engine that was asked for."""
    return pytestconfig.stash[JUDGE].ops
