"""What the machine saw: hazards as data first, and their words."""

from __future__ import annotations

import linecache
from dataclasses import dataclass

from .program import Location


class Unsupported(Exception):
    """Says in one line which operation, of which kernel, at which source line, the machine does not know."""


@dataclass(frozen=True)
class Hazard:
    """One hazard of one operation in one launch.

    `programs` and `lanes` are the first few places, `count` is how many there were. `index` is the
    multi-dimensional index into `tensor` where its strides allow one, else ("element", offset).
    """

    kind: str
    kernel: str
    file: str
    line: int
    source: str
    tensor: str | None = None
    index: tuple[int | str, ...] | None = None
    programs: tuple[tuple[int, ...], ...] = ()
    lanes: tuple[tuple[int, ...], ...] = ()
    count: int = 1
    operands: tuple[tuple[str, object], ...] = ()
    note: str = ""

    def __str__(self) -> str:
        place = f"{self.tensor}{_index_text(self.index)}" if self.tensor else ""
        if self.count > 1:
            place += f"{', ' if place else ''}{self.count} lanes"
        who = " and ".join(f"program {_tuple_text(p)}" for p in dict.fromkeys(self.programs[:2]))
        if self.lanes and self.lanes[0] != ():
            who += f", lane {' and '.join(_tuple_text(lane) for lane in dict.fromkeys(self.lanes[:2]))}"
        details = "; ".join(part for part in (place, who, *(f"{k} = {v}" for k, v in self.operands), self.note) if part)
        return f"{self.kind}: {details}\n  {self.file}:{self.line} in {self.kernel}: {self.source}"


def _tuple_text(values: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"


def _index_text(index: tuple[int | str, ...] | None) -> str:
    if index is None:
        return ""
    if index and index[0] == "element":
        return f" element {index[1]}"
    return "[" + ", ".join(map(str, index)) + "]"


def source_line(location: Location) -> str:
    """Returns the text of a source line without its indentation, or an empty string."""
    return line_text(location.file, location.line)


def line_text(file: str, line: int) -> str:
    """Returns the text of a line of a file without its indentation, or an empty string."""
    return linecache.getline(file, line).strip()
