"""The plugin behind `--reproducers DIR`, and the lines that say how to see a failure again."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from properties import tally
from properties.engines.base import Ops
from properties.printable import printable, shell_word
from properties.report.data import as_data
from properties.reproducer import Unwritable, again, forget, is_told_in, write
from properties.reproducer.making import file_name
from properties.verdict import Violation
from tests.keys import DATABASE, JUDGE, SHARD, path_of


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    words = "write a script repro_PROPERTY.py there for each violated property (default: the folder of --report)"
    parser.getgroup("judge").addoption("--reproducers", metavar="DIR", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Takes the scripts of an earlier run away, before any worker of this one writes its own."""
    if (folder := asked_folder(config)) and "workerinput" not in vars(config):
        forget(folder)


def asked_folder(config: pytest.Config) -> Path | None:
    """Where scripts are asked for, from the folder that pytest was called in; None where nowhere."""
    asked = config.getoption("--reproducers") or config.getoption("--report", default=None)
    return path_of(config, asked) if asked else None


def how_to_see_it_again(request: pytest.FixtureRequest, ops: Ops, found: Violation | None) -> str:
    """A command that works from any folder, and the script or why there is none, a line each."""
    folder = asked_folder(request.config)
    lines = [f"Reproduce:    {command(request, ops)}"]
    if found is not None and folder is not None:
        try:
            lines.append(f"Script:       {write(folder, ops, found)}")
        except (Unwritable, OSError) as why:
            lines.append(f"No script:    {why}")
            if instead := replaying(request.config, ops, found.property_name, repr(found.case)):
                lines.append(f"Instead:      {instead}")
    return "\n".join(lines)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Adds to what was seen while other properties were judged how to see it again, once it has come home."""
    if "workerinput" in vars(session.config):
        return
    ops, folder = session.config.stash[JUDGE].ops, asked_folder(session.config)
    for name, count in list(tally.COUNTS.items()):
        for at, words in sorted(count.examples.items(), key=lambda one: len(one[1])):
            judged, case = (
                re.search(r"seen while judging (\S+)", words),
                re.search(r"^Failing case: (.*)$", words, re.M),
            )
            if not case:
                continue
            lines = [words, f"Reproduce:    {replaying(session.config, ops, judged[1] if judged else name, case[1])}"]
            if folder is not None and (path := folder / file_name(name)).exists():
                lines += script_there(path, f"At:    {at}" if at else words.splitlines()[0])
            elif folder is not None:
                lines += script_beside(folder, ops, name, case[1], at)
            count.examples[at] = "\n".join(lines)


def script_there(path: Path, line: str) -> list[str]:
    """The line that names the script of a property, or says that it is not of what a line of the violation tells."""
    if is_told_in(path.read_text(errors="replace"), line):
        return [f"Script:       {path}"]
    return [f"No script:    a property has one, and {path.name} is of another violation of it"]


def script_beside(folder: Path, ops: Ops, name: str, case: str, at: str) -> list[str]:
    """The line that names a script of what was seen beside, where it is seen at that line by its own property too."""
    try:
        found = again(ops, name, case)
        if found is None or found.at != at:
            raise Unwritable(f"judged by {name} itself, the case does not show it")
        return [f"Script:       {write(folder, ops, found)}"]
    except (Unwritable, OSError) as why:
        return [f"No script:    {why}"]


def command(request: pytest.FixtureRequest, ops: Ops) -> str:
    """What runs this test again, which begins with the stored case."""
    is_compared = bool(request.node.get_closest_marker("baseline"))
    words = ["pytest", request.node.nodeid, "--candidate", ops.candidate.target, *_judged_as(ops, is_compared)]
    return in_checkout(request.config.rootpath, *words, *begun_as(request.config))


def begun_as(config: pytest.Config) -> list[str]:
    """The options of this run that say which case a test begins with: the stored one, or a shard's own."""
    stored = ["--database", config.stash[DATABASE]] if DATABASE in config.stash else []
    if SHARD not in config.stash:
        return stored
    options = ("--hypothesis-seed", "--hypothesis-profile")
    given = [(name, config.getoption(name)) for name in options]
    return [
        *stored,
        *("--shard", str(config.stash[SHARD])),
        *(word for one in given if one[1] is not None for word in one),
    ]


def replaying(config: pytest.Config, ops: Ops, name: str, case: str) -> str:
    """What judges one case of a property again, without pytest; nothing for a proof, which has no case to judge."""
    if case == "None" or name.startswith("proof."):
        return ""
    return replayed(config.rootpath, ops.candidate.target, name, case, *_judged_as(ops, name.startswith("baseline.")))


def told(config: pytest.Config, violation: Violation) -> dict[str, Any]:
    """A violation as data, with the command that judges its case again."""
    replay = replaying(config, config.stash[JUDGE].ops, violation.property_name, repr(violation.case))
    return {**as_data(violation), "replay": replay}


def replayed(root: Path, target: str, property_name: str, case: str, *more: str) -> str:
    """What judges one case again, as it is."""
    return in_checkout(root, "properties.replay", target, property_name, case, *more)


def in_checkout(root: Path, *words: str) -> str:
    """A command that runs a module of this Python; it needs the checkout, so it goes there."""
    python = Path(sys.executable)
    python = python.relative_to(root) if python.is_relative_to(root) else python
    return f"cd {quoted(root)} && {' '.join(map(quoted, (python, '-m', *words)))}"


def _judged_as(ops: Ops, is_compared: bool) -> list[str]:
    """The options of this run that a command needs: the engine, and the baseline of a property that compares."""
    compared = ["--baseline", ops.baseline.candidate.target] if ops.baseline and is_compared else []
    return ["--engine", ops.engine.name, *compared]


def quoted(word: object) -> str:
    """A word for a shell, on one line: a path may have a line's end in it."""
    inside = str(word).replace("\\", "\\\\").replace("'", "\\'")
    return shell_word(str(word)) if str(word).isprintable() else f"$'{printable(inside)}'"
