"""Worker processes that are lost: which call is ended from outside, and what a lost one says of the candidate."""

from __future__ import annotations

import linecache
import os
import re
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from properties import tally
from properties.journal import BASELINE, Call, Record
from properties.printable import printable, shortened
from properties.report.reading import read
from properties.verdict import Violation
from properties.workers import GIB

BY_THE_CLOCK = 5  # times as long a call may take by the clock on the wall, for what waits or is starved
# What others send to end a process: the kernel where memory is short, a user, a batch system.
ASKED = signal.SIGUSR2  # asks a worker at which line it is; Python's faulthandler answers, whoever holds its lock
ANSWER = 0.5  # seconds that it may take for that
FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE}


@dataclass(frozen=True)
class Limits:
    """What one call may take: seconds of the processor, and GiB of memory beyond what the process held before."""

    seconds: float
    gib: float


@dataclass(frozen=True)
class Usage:
    """What a process has used: seconds of the processor, its ended children's too, the clock then, and GiB it holds."""

    processor: float
    clock: float
    gib: float


def usage(process: int, clock: float) -> Usage | None:
    """What a process has used by now; None where Linux does not say, or the process is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    spent = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return Usage(spent, clock, int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / GIB)


class Watch:
    """Compares what processes use with what they had used when their call was first seen, which favours the call."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.begun: dict[int, tuple[Call, Usage]] = {}

    def excess(self, call: Call, now: Usage) -> str | None:
        """What a call has done too much of, in words; None while it is within the limits."""
        seen, before = self.begun.get(call.process, (None, now))
        if seen != call:
            self.begun[call.process] = call, now
            return None
        if not call.called:
            return None
        most = self.limits
        # the clock last: where this looks late, as on a loaded machine, it is over too, and says least
        if now.gib - before.gib > most.gib:
            return f"took more than {most.gib:g} GiB of memory (--call-memory)"
        if now.processor - before.processor > most.seconds:
            return f"did not return within {most.seconds:g} s of the processor (--call-limit)"
        if now.clock - before.clock > BY_THE_CLOCK * most.seconds:
            return f"did not return within {BY_THE_CLOCK * most.seconds:g} s ({BY_THE_CLOCK} times --call-limit)"
        return None


@dataclass(frozen=True)
class Ending:
    """How a process ended, in words, and whether it can only have done so itself."""

    words: str
    is_its_own: bool


def ending(code: int | None) -> Ending:
    """How a process ended, by what its parent was told: an exit code, or a signal as a negative number."""
    if code is None:
        return Ending("was lost in an unknown way", False)
    if code >= 0:
        return Ending(f"ended the process with code {code}", True)
    number = -code
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number in FROM_OUTSIDE:
        return Ending(f"was ended by {name}, which may have come from outside", False)
    return Ending(f"ended the process by {name}", True)


def last_line(stack: str, source: Path | None) -> str:
    """The line of a candidate's file, or package, in what Python's faulthandler wrote, innermost first."""
    if source is None:
        return ""
    home = source.parent if source.name == "__init__.py" else source
    for path, line, function in re.findall(r'^  File "(.+)", line (\d+) in (.+)$', stack, re.MULTILINE):
        if Path(path).is_relative_to(home):
            text = printable(linecache.getline(path, int(line)).strip())
            return f"{printable(Path(path).name)}:{line} in {printable(function)}" + (
                f": {shortened(text)}" if text else ""
            )
    return ""


def ask(process: int, stack: Path, source: Path | None) -> str:
    """The line of the candidate at which a process is that has been told to answer ASKED; empty if it does not answer.

    It may go on as it has answered, since a signal ends some waits: end it at once.
    """
    begin = stack.stat().st_size if stack.exists() else 0
    with suppress(OSError):
        os.kill(process, ASKED)
        end = time.monotonic() + ANSWER
        while time.monotonic() < end:
            if at := last_line(stack.read_bytes()[begin:].rpartition(b"\n")[0].decode(errors="replace"), source):
                return at
            time.sleep(0.001)
    return ""


@dataclass(frozen=True)
class Loss:
    """A worker that was lost during a test of a property: how, with what in its journal, at which line if known."""

    property_name: str
    ended: Ending
    record: Record
    call: Call | None
    at: str = ""

    def violation(self) -> Violation | None:
        """What it says against the candidate; None unless that was being called for a case, and ended by itself."""
        called = self.call.called if self.call else ""
        if not self.record.case or not called or called.startswith(BASELINE) or not self.ended.is_its_own:
            return None
        case = read(self.record.case)
        return Violation(self.record.property_name, called, got=self.ended.words, at=self.at, case=case)

    def why_not(self) -> str:
        """Why the property is not judged, where nothing is said against the candidate."""
        called = self.call.called if self.call else ""
        during = f"while {called} was called" if called else "while the candidate was not called"
        return f"the process {self.ended.words.replace('the process', 'itself')}, {during}"

    def count(self, found: Violation | None) -> None:
        """Counts the violation, or that the property is not judged."""
        count = tally.COUNTS.setdefault(found.property_name if found else self.property_name, tally.Count())
        if found is None:
            count.reasons.add(self.why_not())
        else:
            count.violated += 1
            count.violated_dtypes |= tally.dtype_of(found.case)
