"""The option --baseline, and its tests, which are collected only where it is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark.expression import Expression  # what -m is read by; nothing public does

from properties import tally


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    words = "another kernel that the candidate must equal, bit for bit or within the derived bound"
    parser.getgroup("judge").addoption("--baseline", metavar="PATH|MODULE", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Says that the group needs the option, and the option the group."""
    groups, given = config.getoption("-m"), config.getoption("--baseline")
    if groups == "baseline" and not given:
        raise pytest.UsageError("-m baseline needs --baseline PATH|MODULE, the kernel to compare with")
    if groups and given and not takes_baseline(groups):
        words = f"-m {groups!r} leaves out the group baseline, so --baseline {given} would compare nothing"
        raise pytest.UsageError(f"{words}; add it: -m {f'{groups} or baseline'!r}")


def takes_baseline(groups: str) -> bool:
    """Whether an expression of `-m` selects the tests of the group; one that is none, pytest tells itself."""
    try:
        return Expression.compile(groups).evaluate(lambda name, /, **values: name == "baseline")
    except SyntaxError:
        return True


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says where files, names or -k select no test of the group, though the option is given."""
    if (
        tally.COUNTS
        and config.getoption("--baseline")
        and not any(name.startswith("baseline.") for name in tally.COUNTS)
    ):
        terminalreporter.write_line("note: --baseline compared nothing, for no test of the group baseline was selected")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves the comparison out of a run that has nothing to compare with."""
    return True if collection_path.name == "test_baseline.py" and not config.getoption("--baseline") else None
