"""Verdicts: a violation as data, and the words built from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

HOLDS, VIOLATED, NOT_JUDGED = "holds", "violated", "not judged"


@dataclass
class Violation(AssertionError):
    """One property does not hold for one case.

    where: the element, by name ("request", "position", "channel", ...), in reading order.
    at: the source line, where one is known.
    configuration: of the autotuned kernels that ran, in words.
    let / then / but: what the case is, what follows from the contract, what was found instead.
    """

    property_name: str
    what: str  # "out", "cache", "x", ... or the operator's name
    where: Mapping[str, object] = field(default_factory=dict)
    got: object = None
    wanted: object = None
    at: str = ""
    let: str = ""
    then: str = ""
    but: str = ""
    case: object = None
    configuration: str = ""

    @property
    def headline(self) -> str:
        """The first line: what differs, and by how much."""
        place = ", ".join(f"{name} {value}" for name, value in self.where.items())
        subject = f"{self.what}[{place}]" if place else self.what
        if self.wanted is None:
            return f"Violation: {subject} {self.got}   [{self.property_name}]"
        return f"Violation: {subject} = {self.got}, but should be {self.wanted}   [{self.property_name}]"

    def __str__(self) -> str:
        lines = [self.headline]
        told = [
            (name, words)
            for name, words in (
                ("At", self.at),
                ("With", self.configuration),
                ("Let", self.let),
                ("Then", self.then),
                ("But", self.but),
            )
            if words
        ]
        if told:
            lines += ["", *(f"{name + ':':<6} {words}" for name, words in told)]
        if self.case is not None:
            lines += ["", f"Failing case: {self.case!r}"]
        return "\n".join(lines).rstrip()


class NotJudged(Exception):
    """A property could not be judged, with the reason in one line; never a pass."""
