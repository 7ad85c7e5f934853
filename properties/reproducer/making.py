"""Making: from a violation to a script that was run and fails as the suite did."""

from __future__ import annotations

import fcntl
import io
import os
import re
import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_type_hints

import torch

from properties import catalogue, tally
from properties.engines.base import Ops
from properties.lives import Life
from properties.printable import printable, shortened, told
from properties.report.reading import read
from properties.reproducer import evidence, parts, told_hazards
from properties.reproducer.ending import Ending, Hazard, ending
from properties.reproducer.events import Event, Place, Unwritable, Version
from properties.reproducer.labels import Comparison, Labels
from properties.reproducer.recording import RecordingOps
from properties.reproducer.relevance import REDUCTIONS, is_large
from properties.reproducer.text import Subject, inside, text
from properties.scenarios import public_bug
from properties.surroundings import restored
from properties.ttir import Machine
from properties.verdict import NotJudged, Violation, by_size

HEAD = '"""Violation: '  # how every script begins
MOST_SHOWN = 200  # characters of a line that a script printed


@dataclass
class Recorded:
    """A violation seen once more, with every call and comparison that led to it."""

    violation: Violation
    events: list[Event]
    versions: list[Version]
    labels: Labels

    @property
    def comparisons(self) -> Sequence[Comparison]:
        """Those in which something differed."""
        return self.labels.comparisons


def file_name(property_name: str, case: Any = None) -> str:
    """`repro_values_dense_exact.py` of values.dense_exact; of the lives of public bugs one for each bug."""
    bug = public_bug(case) if isinstance(case, Life) else ""
    return f"repro_{'_'.join([*property_name.split('.'), *filter(None, [bug])])}.py"


def again(ops: Ops, property_name: str, case: str) -> Violation | None:
    """The violation of a property by a case that was printed, counted nowhere. Raises Unwritable."""
    invariant = catalogue.invariant_of(property_name)
    try:
        one = read(case)
    except ValueError as error:
        raise Unwritable(str(error)) from None
    if not isinstance(one, kind := get_type_hints(invariant)["case"]):
        raise Unwritable(f"{property_name} judges a {kind.__name__}, and this is a {type(one).__name__}")
    with tally.apart():
        try:
            for choice in range(ops.configurations):
                invariant(ops.configured(choice), one)
        except Violation as found:
            return found
        except NotJudged as reason:
            raise Unwritable(str(reason)) from None
        except Exception as error:  # the rest of what is told of a run must not be lost over it
            raise Unwritable(f"judging it again ended with {told(error)}") from error
    return None


def record(ops: Ops, violation: Violation) -> Recorded:
    """Judges the violation's case again, in the configuration that failed. Raises Unwritable."""
    invariant = catalogue.invariant_of(violation.property_name)
    other = ""
    for choice in range(ops.configurations if violation.configuration else 1):
        labels = Labels()
        recording = RecordingOps(ops, labels)
        recording.tuned.choice = choice if violation.configuration else ops.tuned.choice
        try:
            with recording.judging(violation.property_name, violation.case), labels:
                invariant.__wrapped__(recording, violation.case)
        except Violation as found:
            if found.is_like(violation):
                return Recorded(found, recording.events, recording.versions, labels)
            other = found.headline
        except NotJudged as reason:
            raise Unwritable(str(reason)) from None
    if other:
        raise Unwritable(f"judged again to record it, the case gave another violation: {other}")
    raise Unwritable("the violation was not seen again when its case was recorded")


def reproduce(ops: Ops, violation: Violation) -> str:
    """The text of a script that was run, and exits 1 as the suite failed. Raises Unwritable."""
    recorded = record(ops, violation)
    name = file_name(violation.property_name, violation.case)
    subject = Subject(ops.candidate, ops.engine.title(), violation, name)
    end = ending(recorded.violation, recorded.events, recorded.versions, recorded.comparisons, recorded.labels)
    sliced = evidence.needed(recorded.events, recorded.versions, end.asked)
    why, too_large, second = "", "", None
    for events, how in [*((sliced, how) for how in REDUCTIONS), (recorded.events, None)]:
        if how is not None and not is_large(events):
            continue
        try:
            narrow, keep = end, dict[Place, torch.Tensor]()
            if how is not None:
                narrow, keep = end.reduced(sliced, how)
                events = evidence.needed(sliced, recorded.versions, narrow.asked)
            script = text(subject, events, recorded.versions, narrow, keep)
        except Unwritable as error:
            too_large = too_large or str(error)
            continue
        code, printed = run(script, ops, name)
        note = "" if narrow.is_told_alike(printed) else parts.NOTE
        scope = parts.ONE_CHANNEL if narrow.compared < end.compared else ""
        finished = replace(subject, shown=_shown(printed, violation.property_name, scope, narrow) + note)
        made = partial(text, finished, events, recorded.versions, narrow, keep)
        if code == 1 and narrow.is_told(printed):
            return made()
        if code == 1 and how is not None and narrow.is_told(printed, loosely=True):
            second = second or made
        why = f"exit code {code}: {_last(printed)}"
    if second:
        return second()
    raise Unwritable(too_large or f"written as a script the case does not fail as the judge told it ({why})")


def _last(printed: str) -> str:
    """The last line that a script printed."""
    lines = printed.strip().splitlines()
    return shortened(printable(lines[-1]), MOST_SHOWN) if lines else "nothing printed"


def _shown(printed: str, about: str, scope: str, end: Ending) -> str:
    """What a script printed itself, for its own head: up to its verdict, or the hazard that it is about."""
    lines = printed.strip().splitlines()
    ends = [number for number, line in enumerate(lines) if line.startswith(about)]
    kept, beside = lines[: ends[-1] + 1 if ends else 3], ""
    if isinstance(end, Hazard):
        kept, beside = told_hazards.shown(printed, end.told, end.at)
    words = "\n".join(f"    {printable(line)[:MOST_SHOWN]}" for line in kept)
    return parts.SHOWN.format(scope=scope, beside=beside, printed=words)


def run(script: str, ops: Ops, name: str, target: str = "") -> tuple[int, str]:
    """Runs a script in this process, on the engine; returns its exit code and what it printed."""
    printed = io.StringIO()
    with TemporaryDirectory() as folder, ExitStack() as surroundings:
        path = Path(folder) / name
        path.write_text(script)
        surroundings.enter_context(restored())  # the candidate may change what belongs to the process
        surroundings.enter_context(redirect_stdout(printed))
        surroundings.callback(_restore(sys.argv, sys.path[:], set(sys.modules)))
        sys.argv = [str(path), target or str(ops.candidate.path or ops.candidate.target)]
        machine = surroundings.enter_context(Machine()) if ops.engine.name == "ttir" else None
        try:
            runpy.run_path(str(path), run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
        except Exception as error:
            print(told(error))
            code = 1
        if machine is not None and machine.hazards:
            print(*machine.hazards, sep="\n")
            code = code or 1
    return code, printed.getvalue()


def _restore(argv: list[str], path: list[str], known: set[str]) -> Any:
    def restore() -> None:
        sys.argv, sys.path[:] = argv, path
        for name in {"candidate", "vllm", "vllm.triton_utils"} & sys.modules.keys() - known:
            del sys.modules[name]

    return restore


def write(folder: Path, ops: Ops, violation: Violation) -> Path:
    """Writes the script of a violation into a folder and returns its path. Raises Unwritable.

    Of several scripts of one property, as of its dtypes, which several processes may write, that of the smallest case
    stays.
    """
    path = folder / file_name(violation.property_name, violation.case)
    try:
        script = reproduce(ops, violation)
    except Unwritable:
        raise
    except Exception as error:  # the violation itself must not be lost over its script
        raise Unwritable(f"making it ended with {told(error)}") from error
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        if not path.exists() or by_size(_case(script)) < by_size(_case(path.read_text())):
            mine = path.with_suffix(f".{os.getpid()}")
            mine.write_text(script)
            mine.replace(path)
    return path


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lets one process at a time compare and replace."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _case(script: str) -> str:
    """The failing case in a script's head."""
    found = re.search(r"^Failing case: (.*)$", script, re.M)
    return found[1] if found else ""


def is_told_in(script: str, line: str) -> bool:
    """Whether a script's head has a line of a violation's words."""
    return inside(line) in script.split('"""')[1].splitlines()


def forget(folder: Path) -> None:
    """Removes the scripts that an earlier run has written into a folder, and nothing else."""
    for path in folder.glob("repro_*.py"):
        if path.is_file() and path.read_text(errors="replace").startswith(HEAD):
            path.unlink()
