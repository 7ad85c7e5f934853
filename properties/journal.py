"""The journal of a process: which property and case it judges, and whether the candidate is being called.

Another process reads it once this one is lost (docs/workers.md). It is one small file, written at every call and never
flushed: what a process has written outlives it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

HEAD = 64  # bytes before the record: process, number of the call, what is called
BASELINE = "baseline."  # before the name of an operator that is not the candidate's
LEFT = 70  # the code with which a process ends itself: EX_SOFTWARE


@dataclass(frozen=True)
class Call:
    """The process, how many calls it has begun, and what is called now; "" between calls."""

    process: int
    number: int
    called: str


@dataclass(frozen=True)
class Record:
    """What is judged; the test, property and case at hand, as text; `left` is why the process ended itself."""

    subject: str = ""
    test: str = ""
    property_name: str = ""
    case: str = ""
    left: str = ""


class Journal:
    """The writer's side; `is_read` says whether another process waits to read it."""

    def __init__(self, path: Path, is_read: bool, subject: str) -> None:
        self.path, self.is_read = path, is_read
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self.process, self.number, self.called = os.getpid(), 0, ""
        self._call("")
        self.write(Record(subject))

    def write(self, record: Record) -> None:
        """Notes what is at hand."""
        self.record = record
        text = json.dumps(asdict(record)).encode()
        os.pwrite(self.file, b"%d\n%b" % (len(text), text), HEAD)

    def _call(self, called: str) -> None:
        self.called = called
        os.pwrite(self.file, f"{self.process} {self.number} {called}".ljust(HEAD).encode(), 0)

    @contextmanager
    def calling(self, operator: str) -> Iterator[None]:
        """Notes that an operator is called, until it returns."""
        before = self.called
        self.number += 1
        self._call(operator)
        try:
            yield
        finally:
            self._call(before)

    def leave(self, why: str) -> None:
        """Ends the process at once, inside of a call, where somebody reads why; else does nothing."""
        if self.is_read and os.getpid() == self.process:
            self.write(replace(self.record, left=why))
            os._exit(LEFT)

    def close(self) -> None:
        """Takes the journal away: its process has come to its end."""
        os.close(self.file)
        self.path.unlink(missing_ok=True)


_OPEN: list[Journal] = []  # of this process: one, or none


def begin(path: Path, is_read: bool, subject: str = "") -> None:
    """Opens this process's journal; before, nothing is noted."""
    end()
    _OPEN.append(Journal(path, is_read, subject))


def end() -> None:
    """Takes this process's journal away."""
    while _OPEN:
        _OPEN.pop().close()


def testing(test: str) -> None:
    """Notes which test is run; no case of another test is at hand any more."""
    for journal in _OPEN:
        journal.write(Record(journal.record.subject, test))


def judging(property_name: str, case: object) -> None:
    """Notes which case is judged."""
    for journal in _OPEN:
        journal.write(replace(journal.record, property_name=property_name, case=repr(case)))


@contextmanager
def calling(operator: str) -> Iterator[None]:
    """Notes that an operator is called, until it returns."""
    if not _OPEN:
        yield
        return
    with _OPEN[0].calling(operator):
        yield


def leave(why: str) -> None:
    """Ends the process at once, inside of a call, if it is one that another replaces."""
    for journal in _OPEN:
        journal.leave(why)


def call_of(path: Path) -> Call | None:
    """What a journal says of the call at hand, None where there is no journal, or it is only just made."""
    try:
        with path.open("rb") as file:
            process, number, *called = file.read(HEAD).split()
        return Call(int(process), int(number), b" ".join(called).decode())
    except (OSError, ValueError):
        return None


def record_of(path: Path) -> Record:
    """What a journal says of the case at hand, once its process writes no more."""
    try:
        size, _, rest = path.read_bytes()[HEAD:].partition(b"\n")
        return Record(**json.loads(rest[: int(size)]))
    except (OSError, ValueError):
        return Record()
