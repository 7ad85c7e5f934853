"""The report of a run as one JSON document; docs/report.schema.json describes it."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from properties import catalogue, configurations, tally
from properties.judge import Judge
from properties.number_words import counted, plural_of
from properties.verdict import HOLDS, NOT_JUDGED, VIOLATED, by_size, total

VERSION = (
    1  # of the schema: fields may be added under the same number, none is renamed, removed or given another meaning
)
DTYPES = ("bf16", "fp16", "fp32")
PACKAGES = ("torch", "triton", "numpy", "hypothesis", "pytest")


@dataclass(frozen=True)
class Run:
    """What was asked for, and how the run ended; times in seconds."""

    profile: str
    seed: str | None
    started: str  # UTC, ISO 8601
    seconds: float
    exit_code: int
    shard: str | None = None


@dataclass(frozen=True)
class Outcome:
    """One test of the run: `outcome` is passed, failed or skipped; `violation` is what `as_data` made of one."""

    id: str
    outcome: str
    seconds: float = 0.0
    text: str = ""
    violation: dict[str, Any] | None = field(default=None)

    @property
    def dtype(self) -> str | None:
        """The dtype that the test is for, if it is for one."""
        parameters = self.id.partition("[")[2].rstrip("]").split("-")
        return next((dtype for dtype in DTYPES if dtype in parameters), None)

    @property
    def verdict(self) -> str:
        """What the test says of its property: a failure without a violation says nothing."""
        if self.violation:
            return VIOLATED
        return HOLDS if self.outcome == "passed" else NOT_JUDGED


def document(judge: Judge, run: Run, outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """Everything that is known of a run."""
    by_property, others = _sorted(outcomes)
    properties = [_property(name, by_property.get(name, [])) for name in sorted({*tally.COUNTS, *by_property})]
    verdicts = [one["verdict"] for one in properties]
    # A run that ended badly for another reason, such as a configuration that never ran, is not one that holds.
    left_open = NOT_JUDGED if run.exit_code or not properties else HOLDS
    candidate = judge.ops.candidate
    return {
        "version": VERSION,
        "verdict": VIOLATED if VIOLATED in verdicts else left_open,
        "run": asdict(run),
        "candidate": {
            "name": candidate.name,
            "path": None if candidate.path is None else str(candidate.path),
            "sha256": candidate.digest,
            "operators": list(candidate.operators),
            "missing": list(candidate.missing),
        },
        "engine": {
            "name": judge.engine.name,
            "title": judge.engine.title(),
            "unjudged_dtypes": dict(judge.engine.unjudged_dtypes),
        },
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "totals": totals_of(properties, judge.compiled()),
        "groups": [
            {"name": group, "seconds": seconds} for group, seconds in seconds_of_groups(by_property, properties).items()
        ],
        "properties": properties,
        "configurations": {kernel: dict(counts) for kernel, counts in sorted(configurations.LAUNCHES.items())},
        "other_tests": {kind: sum(one.outcome == kind for one in others) for kind in ("passed", "failed", "skipped")},
    }


def totals_of(properties: list[dict[str, Any]], specialisations: int | None) -> dict[str, int | None]:
    """How many properties each verdict is that of, and what was judged for them."""
    verdicts = [one["verdict"] for one in properties]
    cases = sum(one["cases"] for one in properties)
    counts = {kind: verdicts.count(kind) for kind in (HOLDS, VIOLATED, NOT_JUDGED)}
    return {**counts, "cases": cases, "specialisations": specialisations}


def property_of(test: str) -> str | None:
    """The property that a test judges, by the test's id; None for a test of the judge itself."""
    return _PROPERTY_OF.get(test.partition("[")[0])


def variant(test: str) -> str:
    """What a test's id has in brackets beside a dtype: the bug, say, whose life it is."""
    parts = test.partition("[")[2].removesuffix("]").split("-")
    return "-".join(part for part in parts if part not in DTYPES)


_PROPERTY_OF = {catalogue.test_of(entry.name): entry.name for entry in catalogue.entries()}


def _sorted(outcomes: Iterable[Outcome]) -> tuple[dict[str, list[Outcome]], list[Outcome]]:
    """The tests of each property, by dtype, and those of none."""
    found: dict[str, list[Outcome]] = {}
    others = []
    for one in sorted(outcomes, key=lambda one: one.id):
        if name := property_of(one.id):
            found.setdefault(name, []).append(one)
        else:
            others.append(one)
    return found, others


def seconds_of_groups(by_property: dict[str, list[Outcome]], properties: list[dict[str, Any]]) -> dict[str, float]:
    """The seconds that the tests of each group took together, on all processes."""
    found = {str(one["group"]): 0.0 for one in properties}
    for name, tests in by_property.items():
        found[name.partition(".")[0]] += sum(test.seconds for test in tests)
    return {group: round(seconds, 3) for group, seconds in found.items()}


def _property(name: str, tests: list[Outcome]) -> dict[str, Any]:
    count, entry = tally.COUNTS.get(name, tally.Count()), tally.CATALOGUE.get(name)
    what, reason = tally.verdict(name, count)
    violations = [_violation(test) for test in tests if test.violation]
    violations.sort(key=lambda one: (by_size(one["case"]), one["test"]))
    reasons = {reason} if reason else set()
    # What no count tells: tests that failed over something else, whose process ended, or that were skipped at once.
    untold = {_in_short(test) for test in tests if test.verdict == NOT_JUDGED}
    if violations:
        what, reasons = VIOLATED, set(count.reasons)
    elif what == VIOLATED and count.examples:
        reasons = {", ".join(["seen while others were judged", *reasons])}
    elif what == HOLDS and any(test.outcome == "failed" for test in tests):
        what, reasons = NOT_JUDGED, untold
    elif what == NOT_JUDGED and not count.reasons and untold:
        reasons = untold
    return {
        "name": name,
        "group": name.partition(".")[0],
        "sentence": entry.sentence if entry else "",
        "operator": entry.operator if entry else None,
        "verdict": what,
        "reasons": sorted(reasons),
        "is_excused": count.is_excused,
        "elsewhere": sorted(count.elsewhere),
        "is_left": what == NOT_JUDGED and bool(count.elsewhere) and not count.reasons,
        "unreached": sorted(tally.unreached(name, count)),
        "replays": count.replays,
        "cases": count.judged,
        "seen_violated": count.violated,
        "edges": sorted(count.edges),
        "seconds": round(sum(test.seconds for test in tests), 3),
        "dtypes": {test.dtype: test.verdict for test in tests if test.dtype},
        "tests": [{"id": test.id, "outcome": test.outcome, "seconds": round(test.seconds, 3)} for test in tests],
        "violations": violations,
        "seen_beside": list(count.examples.values()),
    }


def _in_short(test: Outcome) -> str:
    """What kept a test from passing, in one line: the error of a traceback, or the first line."""
    lines = test.text.strip().splitlines() or [f"{test.outcome} without a word"]
    return next((line[1:].strip() for line in lines if line.startswith("E ")), lines[0])


def _violation(test: Outcome) -> dict[str, Any]:
    return {"test": test.id, "dtype": test.dtype, "text": test.text, **(test.violation or {})}


def failing(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The properties of which something is to be shown, the one with the shortest case first."""
    found = [one for one in report["properties"] if one["violations"] or one["seen_beside"]]
    return sorted(found, key=lambda one: min([len(each["case"] or "") for each in one["violations"]], default=2**31))


def totals_line(report: dict[str, Any]) -> str:
    """`2 violated, 48 hold, 1 not judged; 9,131 cases in 121 s`."""
    totals = report["totals"]
    parts = [total(totals[kind], kind) for kind in (VIOLATED, HOLDS, NOT_JUDGED)]
    return f"{', '.join(parts)}; {counted(totals['cases'], 'case')} in {report['run']['seconds']:,.0f} s"


def environment_lines(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What was judged, on what, with which versions: names and words."""
    candidate, run, versions = report["candidate"], report["run"], report["versions"]
    missing = f"; not offered: {', '.join(candidate['missing'])}" if candidate["missing"] else ""
    compiled = report["totals"]["specialisations"]
    return [
        ("Candidate", f"{candidate['path'] or candidate['name']} (sha256 {candidate['sha256']})"),
        ("Operators", f"{', '.join(candidate['operators'])}{missing}"),
        ("Engine", report["engine"]["title"]),
        ("Profile", f"{run['profile']}, seed {'drawn anew' if run['seed'] is None else run['seed']}"),
        *([("Shard", run["shard"])] if run.get("shard") else []),
        *_shards(report),
        ("Versions", ", ".join(f"{name} {number}" for name, number in versions.items())),
        ("Specialisations compiled", "unknown" if compiled is None else f"{compiled:,}"),
        ("Started", f"{run['started']}, exit code {run['exit_code']}"),
        *[("Partly", f"{dtype} not judged: {why}") for dtype, why in report["engine"]["unjudged_dtypes"].items()],
        *[("Autotuned", line) for line in _launches(report)],
    ]


def _shards(report: dict[str, Any]) -> list[tuple[str, str]]:
    """The parts of a merged report, those that are missing, and what differs between them."""
    if (shards := report.get("shards")) is None:
        return []
    told = [
        f"{one['shard']} {one['verdict']}, {counted(one['cases'], 'case')} in {one['seconds']:,.0f} s"
        for one in shards["reports"]
    ]
    missing = [("Missing", plural_of("shard", shards["missing"]))] if shards["missing"] else []
    return [("Shards", "; ".join(told)), *missing, *[("Note", note) for note in shards["notes"]]]


def _launches(report: dict[str, Any]) -> list[str]:
    return [
        f"{kernel}: {one}: {configurations.in_words(count)}"
        for kernel, counts in report["configurations"].items()
        for one, count in counts.items()
    ]


def reproduction(text: str) -> tuple[str, str]:
    """What a failure's text says about seeing it again: the command, and where a script is or why there is none."""
    command, _, rest = text.partition("Reproduce:")[2].strip().partition("\n")
    lines = [" ".join(line.split()) for line in rest.splitlines()]
    return command, next((line for line in lines if line.startswith(("Script: ", "No script: "))), "")


def scripts(violations: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """For each failing case of a property, the smallest first, the path of its script and why there is none, if so.

    A property has one script, that of the smallest case for which one can be written: of the others none is left.
    """
    told = [reproduction(one["text"])[1].partition(": ") for one in violations]
    owner = next((number for number, (what, _, _) in enumerate(told) if what == "Script"), None)
    whose = "" if owner is None else f"{Path(told[owner][2]).name} is of the {_named(violations[owner])} case"
    return [
        (rest, "") if number == owner else ("", "; ".join(filter(None, (rest if what == "No script" else "", whose))))
        for number, (what, _, rest) in enumerate(told)
    ]


def _named(violation: dict[str, Any]) -> str:
    return str(violation["dtype"] or "smallest")
