"""Verdicts: a violation as data, and the words built from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from properties.printable import told

HOLDS, VIOLATED, NOT_JUDGED = "holds", "violated", "not judged"
PROVED = "proved"  # what an obligation of a proof is where it holds


def total(count: int, kind: str) -> str:
    """How many properties a verdict is that of: `1 holds`, `2 hold`, `2 violated`."""
    return f"{count} {'hold' if kind == HOLDS and count != 1 else kind}"


@dataclass(frozen=True)
class Source:
    """Where a tap's input is: a row of `x`, an element of the cache, or nowhere (it is 0).

    kind: "x", "cache", "nothing", "outside" (memory around a tensor), "sum" (of several) or "unknown". `channel` is of
    `x`; in the cache it is `head` and `d`. `note` says what "outside", "sum" and "unknown" are.
    position: the request's absolute position that lies there, where one does.
    """

    kind: str
    position: int | None = None
    row: int | None = None
    block: int | None = None
    offset: int | None = None
    channel: int | None = None
    head: int | None = None
    d: int | None = None
    note: str = ""  # what is special there: "the null block", "another request's", "padding"

    def __str__(self) -> str:
        words = {"x": f"x[{self.row}]", "cache": f"block {self.block} offset {self.offset}", "nothing": "nowhere"}
        if self.kind not in words:
            return self.note or "an unknown place"
        return words[self.kind] + (f" ({self.note})" if self.note else "")

    def is_at(self, other: Source) -> bool:
        """Whether both are the same place, whatever is said of it."""
        mine, its = ((one.row, one.block, one.offset, one.channel, one.head, one.d) for one in (self, other))
        return self.kind == other.kind and mine == its


@dataclass(frozen=True)
class Tap:
    """Tap `index` of the wrong element: where it is meant to come from, and where it came from, if that was probed.

    weight: the element (channel, column) of the weight that multiplies it, if that was probed.
    """

    index: int
    meant: Source
    came: Source | None = None
    weight: tuple[int, int] | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether it was probed and came from elsewhere."""
        return self.came is not None and not self.came.is_at(self.meant)

    @property
    def is_repeated(self) -> bool:
        """Whether it came from its place alone, but counts more than once."""
        came = self.came
        return came is not None and came.kind == "sum" and replace(came, kind=self.meant.kind).is_at(self.meant)


@dataclass(frozen=True)
class Spread:
    """Which elements of `[rows, channels]` differ: how many, what they have in common, and the first of them.

    elements: (row, channel, error in units in the last place), at most `MOST_ELEMENTS`.
    """

    count: int
    total: int
    words: str
    rows: int
    channels: int
    elements: tuple[tuple[int, int, float], ...] = ()


def by_size(case: str | None) -> tuple[int, str]:
    """What orders the failing cases of a property by their text: the first one is told in full, wherever any is."""
    return len(case or ""), case or ""


MOST_ELEMENTS = 4096  # of a spread: a picture shows no more


@dataclass
class Violation(AssertionError):
    """One property does not hold for one case.

    where: the element, by name ("request", "position", "channel", ...), in reading order.
    said: the candidate's own words of it, as an exception's message: it may say others each time.
    at: the source line, where one is known.
    configuration: of the autotuned kernels that ran, in words.
    taps: of that element, oldest first; empty where the element is no output of `fused_sconv`.
    spread: all elements that differ, where the output or something of its shape does.
    step: of a case of several forwards, the one that fails, counted from 0.
    let / then / but: what the case is, what follows from the contract, what was found instead.
    """

    property_name: str
    what: str  # "out", "cache", "x", ... or the operator's name
    where: Mapping[str, object] = field(default_factory=dict)
    got: object = None
    wanted: object = None
    said: str = ""
    at: str = ""
    let: str = ""
    then: str = ""
    but: str = ""
    case: object = None
    configuration: str = ""
    taps: tuple[Tap, ...] = ()
    spread: Spread | None = None
    step: int | None = None

    def because(self, explanation: Callable[[Violation], None]) -> Violation:
        """Remembers what looks for the cause, by more runs of the candidate; returns the violation."""
        self._explanation: Callable[[Violation], None] | None = explanation
        return self

    def explain(self) -> Violation:
        """Looks for the cause, once, and puts it into `taps`, `at` and `but`; what fails there is said in `but`."""
        explanation, self._explanation = getattr(self, "_explanation", None), None
        if explanation is not None:
            try:
                explanation(self)
            except Exception as error:  # the violation itself must not be lost over it
                self.found(f"looking for the cause failed: {told(error)}")
        return self

    def found(self, cause: str) -> None:
        """Puts a cause before what else `but` says."""
        self.but = "; ".join(filter(None, (cause, self.but)))

    @property
    def outcome(self) -> str:
        """What came out instead, with the candidate's own words."""
        return f"{self.got}: {self.said}" if self.said else str(self.got)

    def is_like(self, other: Violation) -> bool:
        """Whether it is the other, seen again: of an exception its class's name and its place count, not its text."""
        mine, its = ((replace(one, said="").headline, one.configuration, one.said and one.at) for one in (self, other))
        return mine == its

    @property
    def headline(self) -> str:
        """The first line: what differs, and by how much."""
        place = ", ".join(f"{name} {value}" for name, value in self.where.items())
        subject = f"{self.what}[{place}]" if place else self.what
        if self.wanted is None:
            return f"Violation: {subject} {self.outcome}   [{self.property_name}]"
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
