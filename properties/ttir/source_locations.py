"""MLIR's location lines to source lines."""

from __future__ import annotations

import os
import re

from .program import Location
from .type_text import unescaped

DEFINITION = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
FILE = re.compile(r'^"([^"]*)":(\d+):(\d+)(?: to .*)?$')
NAMED = re.compile(r'^"[^"]*"\((.*)\)$')
CALLSITE = re.compile(r"^callsite\((.+) at (#loc\d*|\".*\"|unknown)\)$")
FUSED = re.compile(r"^fused(?:<.*>)?\[(.*)\]$")
UNKNOWN = Location()


class Locations:
    """Resolves references such as `#loc12` to a line of the user's source, and remembers them."""

    def __init__(self, definitions: dict[str, str]) -> None:
        self.definitions = definitions
        self.resolved: dict[str, Location] = {}

    def resolve(self, text: str) -> Location:
        if text not in self.resolved:
            chain = [place for place in self._chain(text) if place.line]
            self.resolved[text] = _user_line(chain)
        return self.resolved[text]

    def _chain(self, text: str) -> list[Location]:
        text = text.strip()
        if text.startswith("#"):
            return self._chain(self.definitions.get(text, "unknown"))
        match = FILE.match(text)
        if match:
            return [Location(unescaped(match[1]), int(match[2]))]
        match = CALLSITE.match(text)
        if match:
            return self._chain(match[1]) + self._chain(match[2])
        match = NAMED.match(text)
        if match:
            return self._chain(match[1])
        match = FUSED.match(text)
        if match:
            return [place for piece in match[1].split(", ") for place in self._chain(piece)]
        return []


def _user_line(chain: list[Location]) -> Location:
    """Picks the innermost line outside of Triton's own library, with the lines that called it."""
    if not chain:
        return UNKNOWN
    library = f"{os.sep}triton{os.sep}language{os.sep}"
    for position, place in enumerate(chain):
        if library not in place.file:
            return Location(place.file, place.line, tuple(chain[position + 1 :]))
    return chain[0]


def read(text: str) -> Locations:
    """Collects the location definitions of a module's text."""
    return Locations(dict(DEFINITION.findall(text)))
