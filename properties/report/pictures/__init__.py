"""Pictures of a violation, as SVG: its case, and the errors of its output."""

from __future__ import annotations

from dataclasses import dataclass

from properties.cases import Forward, Metadata, Schedule, Streams
from properties.lives import Life
from properties.replays import Replays
from properties.report.pictures.forward import forward
from properties.report.pictures.heat import heat
from properties.report.pictures.owners import owners
from properties.report.pictures.steps import life, replays, schedule
from properties.verdict import Violation


@dataclass(frozen=True)
class Picture:
    """One picture: what it shows ("forward", "rows", "steps", "heat"), and its SVG element as text."""

    kind: str
    svg: str


def pictures(violation: Violation) -> list[Picture]:
    """The pictures of a violation: that of its case, if it has one, then the heat map of its errors."""
    found = []
    match violation.case:
        case Forward() as case:
            found.append(Picture("forward", forward(violation, case)))
        case Streams() as case:
            found.append(Picture("forward", forward(violation, case.forward)))
        case Metadata() as case:
            found.append(Picture("rows", owners(violation, case)))
        case Schedule() as case:
            found.append(Picture("steps", schedule(violation, case)))
        case Replays() as case:
            found.append(Picture("steps", replays(violation, case)))
        case Life() as case:
            found.append(Picture("steps", life(violation, case)))
    if violation.spread and violation.spread.elements:
        found.append(Picture("heat", heat(violation, violation.spread)))
    return found
