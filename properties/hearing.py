"""What a candidate writes to one of the process's streams: its beginning, heard beside the judge's own words."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

MOST = 80  # characters: one line tells what was printed


class Heard:
    """Keeps the beginning of what is written, and passes on what nobody captures: to a terminal, not to pytest.

    descriptor: the stream's own, 1 or 2; where pytest has laid a file under it, what is written there is heard too.
    """

    def __init__(self, onto: Any, is_captured: bool, descriptor: int) -> None:
        self.onto, self.is_captured, self.descriptor = onto, is_captured, descriptor
        self.beginning, self.is_closed = "", False
        self.begin = self._place()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.onto, name)  # encoding, buffer, isatty

    def write(self, text: str) -> int:
        """Hears a text."""
        if len(self.beginning) < MOST:
            self.beginning += text
        return len(text) if self.is_captured else int(self.onto.write(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Hears several texts."""
        for line in lines:
            self.write(line)

    def close(self) -> None:
        """Leaves the stream open, which is everybody's."""
        self.is_closed = True

    detach = close

    def settle(self) -> None:
        """Hears what went past Python to the descriptor; from standard output it takes that away: it is told once.

        What a compiler says of an error goes to the other one, and is worth reading in full where pytest shows it.
        """
        if self.begin is None or (end := self._place()) is None or end <= self.begin:
            return
        with suppress(OSError):  # a file that may not be read is none of pytest's
            self.beginning += os.pread(self.descriptor, MOST, self.begin).decode(errors="replace")
            if self.descriptor == 1:
                os.ftruncate(self.descriptor, self.begin)
                os.lseek(self.descriptor, self.begin, os.SEEK_SET)

    def _place(self) -> int | None:
        """Where in pytest's file the next byte would go; None where there is no file, or it is the user's."""
        try:
            return os.lseek(self.descriptor, 0, os.SEEK_CUR) if self.is_captured else None
        except OSError:
            return None
