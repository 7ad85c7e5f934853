"""What the machine saw: hazards as data first, and their words."""

from __future__ import annotations

import ast
import linecache
import re
from dataclasses import dataclass
from functools import cache

from .program import Location

MOST_LINES = 6  # of a statement, in words


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


def line_text(file: str, line: int) -> str:
    """Returns the text of a line of a file without its indentation, or an empty string."""
    return linecache.getline(file, line).strip()


def source_line(location: Location) -> str:
    """The whole statement that a line is of: which of its lines Triton tells is another one in each version."""
    first, last = _statements("".join(linecache.getlines(location.file))).get(location.line, (0, 0))
    if not first:
        return line_text(location.file, location.line)
    if first == last:
        return line_text(location.file, first)
    lines = [line_text(location.file, line).split("#")[0].strip() for line in range(first, last + 1)]
    text = " ".join(filter(None, lines[:MOST_LINES]))
    text = re.sub(r"(?<=[(\[]) |,? (?=[)\]])", "", text)  # as on one line
    return f"{text} …" if len(lines) > MOST_LINES else text


@cache
def _statements(text: str) -> dict[int, tuple[int, int]]:
    """The first and last line of the innermost statement around each line of a file; of a block, its head."""
    try:
        statements = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    except SyntaxError:
        return {}
    found = {}
    for node in statements:  # outer ones first
        body = getattr(node, "body", None)
        last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
        found.update(dict.fromkeys(range(node.lineno, last + 1), (node.lineno, last)))
    return found
