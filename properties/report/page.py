"""The report as one HTML page: no scripts, nothing fetched."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from properties.number_words import counted
from properties.report.data import from_data
from properties.report.document import environment_lines, failing, reproduction, scripts, totals_line
from properties.report.pictures import pictures
from properties.report.pictures.taps import came_words
from properties.verdict import HOLDS, NOT_JUDGED, VIOLATED, Spread, Tap

HERE = Path(__file__).parent
ORDER = (VIOLATED, NOT_JUDGED, HOLDS)
MARKS = {HOLDS: "✓", VIOLATED: "✗", NOT_JUDGED: "?"}
MOST_LISTED = 24  # errors in the table beneath a heat map
Report = dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """One failing case as the page shows it."""

    headline: str
    reproduce: str
    script: str  # the path of the script that shows it
    no_script: str  # why there is none
    replay: str = ""  # the command without pytest
    dtype: str | None = None
    words: list[tuple[str, str]] = field(default_factory=list)  # At, With, Let, Then, But
    case: str = ""
    taps: list[tuple[Tap, str]] = field(default_factory=list)
    spread: Spread | None = None
    is_probed: bool = False  # whether it is known where a tap came from
    pictures: list[tuple[str, Markup]] = field(default_factory=list)
    missing: str = ""  # why there is no picture
    note: str = ""  # what the failure's text says beside the violation, such as that it was not seen again
    text: str = ""  # the whole failure as the terminal tells it, where it is no violation that is known as data


def rendered(report: Report) -> str:
    """The whole page as text."""
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    groups: dict[str, list[Report]] = {}
    for one in sorted(report["properties"], key=lambda one: ORDER.index(one["verdict"])):
        groups.setdefault(one["group"], []).append(one)
    return environment.get_template("page.html.j2").render(
        report=report,
        style=Markup((HERE / "page.css").read_text()),  # our own text
        line=totals_line(report),
        marks=MARKS,
        counted=counted,
        groups=groups,
        seconds={group["name"]: group["seconds"] for group in report["groups"]},
        environment=environment_lines(report),
        failing=[(one, failures(one)) for one in failing(report)],
        most_listed=MOST_LISTED,
    )


def failures(one: Report) -> list[Failure]:
    """What is to be shown of a property: its failing cases, then what was seen while another was judged."""
    beside = [_told_only(text) for text in one["seen_beside"]]
    pairs = zip(one["violations"], scripts(one["violations"]), strict=True)
    return [*(_failure(found, *script) for found, script in pairs), *beside]


def _failure(found: Report, script: str, no_script: str) -> Failure:
    drawn: list[tuple[str, Markup]] = []
    missing, note, taps, spread = "", "", list[Tap](), None
    try:
        violation = from_data(found)
        taps, spread = list(violation.taps), violation.spread
        if found["text"].startswith(words := str(violation)):
            note = found["text"].removeprefix(words).partition("Reproduce:")[0].strip()
        drawn = [(picture.kind, Markup(picture.svg)) for picture in pictures(violation)]
    except Exception as error:  # a picture that cannot be drawn must not cost the rest of the report
        missing = f"No picture: {type(error).__name__}: {error}"
    names = ("at", "configuration", "let", "then", "but")
    return Failure(
        headline=found["headline"].removeprefix("Violation: "),
        dtype=found["dtype"],
        words=[({"configuration": "With"}.get(name, name.title()), found[name]) for name in names if found[name]],
        case=found["case"] or "",
        reproduce=reproduction(found["text"])[0],
        replay=found.get("replay", ""),
        script=script,
        no_script=no_script,
        taps=[(tap, came_words(tap)) for tap in taps],
        spread=spread,
        is_probed=any(tap.came for tap in taps),
        pictures=drawn,
        missing=missing,
        note=note,
    )


def _told_only(text: str) -> Failure:
    headline, _, rest = text.partition("\n")
    headline, told = headline.removeprefix("Violation: "), rest.partition("Reproduce:")[0].strip()
    command, script = reproduction(text)[0], scripts([{"text": text, "dtype": None}])[0]
    return Failure(headline, command, *script, text=told)
