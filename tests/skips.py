"""The option --skips: tests that a file excuses, each with a link; they are told as not judged."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass

import pytest

from properties import catalogue, tally
from properties.number_words import counted
from tests.judging import DTYPES
from tests.keys import path_of

LINE = "test id or property name, link, # reason"
SKIPS = pytest.StashKey["list[Skip]"]()


@dataclass(frozen=True)
class Skip:
    """One line: what is not judged, as property and the part of its tests' ids in brackets ("" for all), and why."""

    property_name: str
    parameters: str
    why: str

    def covers(self, item: pytest.Item) -> bool:
        """Whether the line names this test."""
        name = catalogue.test_of(self.property_name)
        return item.nodeid in (name, f"{name}[{self.parameters}]") or (
            not self.parameters and item.nodeid.startswith(f"{name}[")
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    words = f"tests that are not judged, one a line: {LINE}"
    parser.getgroup("judge").addoption("--skips", metavar="FILE", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Reads the file; what is wrong with it ends the run, in one line for each wrong line of it."""
    given = config.getoption("--skips")
    if not given:
        return
    path = path_of(config, given)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise pytest.UsageError(f"--skips {given!r} cannot be read: {getattr(error, 'strerror', error)}") from None
    skips, faults = parsed(text)
    if faults:
        raise pytest.UsageError(*(f"--skips {given}:{fault}" for fault in faults))
    config.stash[SKIPS] = skips
    tally.SKIPPED.update({skip.property_name: skip.why for skip in skips if not skip.parameters})


def parsed(text: str) -> tuple[list[Skip], list[str]]:
    """The lines of a file, and what is wrong with others, each with its number first."""
    skips, faults = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        name, parameters = _named(words[0])
        link = words[1] if len(words) > 1 else ""
        if fault := _unknown(words[0], name, parameters):
            faults.append(f"{number}: {fault}")
        elif not link.startswith(("http://", "https://")):
            faults.append(f"{number}: {words[0]} has no link: a line is {LINE}")
        elif len(words) > 2 and not words[2].startswith("#"):
            faults.append(f"{number}: {words[2]!r} follows the link, but a reason begins with #")
        else:
            reason = " ".join(words[2:]).lstrip("# ")
            skips.append(Skip(name, parameters, f"{link} ({reason})" if reason else link))
    return skips, faults


def _named(name: str) -> tuple[str, str]:
    """The property of a test's id or of its own name, and what stands in brackets behind it."""
    base, _, parameters = name.partition("[")
    own = {catalogue.test_of(entry.name): entry.name for entry in catalogue.entries()}
    return own.get(base, base), parameters.removesuffix("]")


def _unknown(given: str, name: str, parameters: str) -> str | None:
    """What is wrong with the name of a line, or None."""
    known = [entry.name for entry in catalogue.entries()]
    if name not in known:
        tests = [catalogue.test_of(one) for one in known]
        close = difflib.get_close_matches(name, known + tests, n=1)
        return f"{given} is no property and no test of one" + (f"; did you mean {close[0]}?" if close else "")
    if parameters and parameters not in _parameters(name):
        return f"{given} is no test; {catalogue.test_of(name)} has {', '.join(_parameters(name)) or 'no parameters'}"
    return None


def _parameters(name: str) -> list[str]:
    """What pytest writes in brackets behind a property's tests: the values of its parameters."""
    group, own = name.split(".")
    test = getattr(importlib.import_module(catalogue.module_of(group)), f"test_{own}")
    found = list(DTYPES) if "dtype" in test.__code__.co_varnames else []
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            found = [f"{dtype}-{value}" for dtype in found for value in mark.args[1]]
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what the file names, and counts it as not judged for a reason that is known."""
    for skip in item.config.stash.get(SKIPS, []):
        if skip.covers(item):
            count = tally.COUNTS.setdefault(skip.property_name, tally.Count())
            count.reasons.add(f"skipped{f' in {skip.parameters}' * bool(skip.parameters)}: {skip.why}")
            count.excused = True
            pytest.skip(f"not judged [{skip.property_name}]: {skip.why}")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Says that not everything is judged."""
    return (
        [f"skips: {config.getoption('--skips')}, {counted(len(config.stash[SKIPS]), 'line')}"]
        if SKIPS in config.stash
        else []
    )
