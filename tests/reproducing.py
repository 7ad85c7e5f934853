"""The plugin behind `--reproducers DIR`, and the lines that say how to see a failure again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from properties.engines.base import Ops
from properties.printable import printable
from properties.reproducer import Unwritable, forget, write
from properties.verdict import Violation


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
    return config.invocation_params.dir / asked if asked else None


def how_to_see_it_again(request: pytest.FixtureRequest, ops: Ops, found: Violation | None) -> str:
    """A command that works from any folder, and the script or why there is none, a line each."""
    folder = asked_folder(request.config)
    lines = [f"Reproduce:    {command(request, ops)}"]
    if found is not None and folder is not None:
        try:
            lines.append(f"Script:       {write(folder, ops, found)}")
        except (Unwritable, OSError) as why:
            lines.append(f"No script:    {why}")
    return "\n".join(lines)


def command(request: pytest.FixtureRequest, ops: Ops) -> str:
    """What runs this test again, which begins with the stored case."""
    words = ["pytest", request.node.nodeid, "--candidate", ops.candidate.target, "--engine", ops.engine.name]
    if ops.baseline and request.node.get_closest_marker("baseline"):
        words += ["--baseline", ops.baseline.candidate.target]
    return in_checkout(request.config.rootpath, *words)


def replayed(root: Path, target: str, property_name: str, case: str, *more: str) -> str:
    """What judges one case again, as it is."""
    return in_checkout(root, "properties.replay", target, property_name, case, *more)


def in_checkout(root: Path, *words: str) -> str:
    """A command that runs a module of this Python; it needs the checkout, so it goes there."""
    python = Path(sys.executable)
    python = python.relative_to(root) if python.is_relative_to(root) else python
    return f"cd {quoted(root)} && {' '.join(map(quoted, (python, '-m', *words)))}"


def quoted(word: object) -> str:
    """A word for a shell, on one line: a path may have a line's end in it."""
    inside = str(word).replace("\\", "\\\\").replace("'", "\\'")
    return shlex.quote(str(word)) if str(word).isprintable() else f"$'{printable(inside)}'"
