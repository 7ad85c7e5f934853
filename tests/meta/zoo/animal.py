"""An animal: one bug, as another paragraph of the base kernel, with the case that shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

BASE = Path(__file__).with_name("base.py")
_HEADING = re.compile(r"^( *)# ([a-z ]+): .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Animal:
    """A bug of a real class; `changes` are paragraphs of the base kernel by their names, and what stands there instead.

    `found_by` is the property among whose cases a run comes upon it, where that is not the one that it violates.
    """

    name: str
    bug_class: int  # of CLASSES
    summary: str  # what goes wrong, in a line
    property_name: str  # what must catch it
    case: Any  # the smallest that is known
    changes: dict[str, str]
    found_by: str = ""

    @cached_property
    def kernel(self) -> str:
        """The kernel file: that of the base with each of the changes made in exactly one place."""
        _, _, text = BASE.read_text().split('"""', 2)  # the docstring is the base's own
        for name, paragraph in self.changes.items():
            text = changed(text, name, paragraph)
        return f'"""One bug: {self.summary}."""{text}'

    def write(self, folder: Path) -> Path:
        """Writes the kernel file, and returns its path."""
        path = folder / f"{self.name}.py"
        path.write_text(self.kernel)
        return path


def changed(text: str, name: str, paragraph: str) -> str:
    """The text with another paragraph under the heading of that name: from there to the next empty line."""
    found = [heading for heading in _HEADING.finditer(text) if heading[2] == name]
    if len(found) != 1:
        raise ValueError(f"{len(found)} paragraphs are headed {name!r}, but there must be one")
    begin, end = found[0].end(), text.index("\n\n", found[0].end()) + 1
    new = indent(dedent(paragraph).strip("\n") + "\n", found[0][1])
    if new == text[begin:end]:
        raise ValueError(f"the paragraph {name!r} is the one that was there")
    return text[:begin] + new + text[end:]
