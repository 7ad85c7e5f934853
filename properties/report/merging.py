"""The reports of a run's shards as one: cases added up, and a verdict on what was judged in any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from properties import configurations, tally
from properties.number_words import counted, plural_of
from properties.report.document import VERSION, totals_of
from properties.shards import Shard
from properties.verdict import HOLDS, NOT_JUDGED, VIOLATED, by_size

Report = dict[str, Any]
Shards = dict[Shard, Report]
JUDGED = (0, 1)  # exit codes of a run that came to its end


class NoShards(Exception):
    """Reports that are not the shards of one run; the message is one line."""


def by_shard(reports: Iterable[tuple[str, Any]]) -> Shards:
    """Reports, each with where it lies, by shard; raises NoShards where they are not of one run of one candidate."""
    found: Shards = {}
    places: dict[Shard, str] = {}
    for place, report in reports:
        if not isinstance(report, dict) or report.get("version") != VERSION:
            raise NoShards(f"{place} is no report of version {VERSION}")
        if not (name := report["run"].get("shard")):
            raise NoShards(f"{place} is of a run without --shard")
        shard = Shard.read(name)
        if shard in found:
            raise NoShards(f"shard {shard} is there twice: {places[shard]} and {place}")
        found[shard], places[shard] = report, place
    for what, read in FIXED.items():
        if len(values := _by_value(found, read)) > 1:
            raise NoShards(f"{what}: {_in_words(values)}")
    return dict(sorted(found.items()))


# What must be the same in all shards, and what is said where it is not.
FIXED: dict[str, Callable[[Report], str]] = {
    "the number of shards differs": lambda report: str(Shard.read(report["run"]["shard"]).count),
    "the candidate differs": lambda report: f"sha256 {report['candidate']['sha256']}",
}
TOLD: dict[str, Callable[[Report], str]] = {
    "the profile differs": lambda report: str(report["run"]["profile"]),
    "the seed differs": lambda report: "drawn anew" if report["run"]["seed"] is None else str(report["run"]["seed"]),
    "the engine differs": lambda report: str(report["engine"]["title"]),
    "versions differ": lambda report: ", ".join(
        f"{name} {number}" for name, number in sorted(report["versions"].items())
    ),
}


def _by_value(shards: Shards, read: Callable[[Report], str]) -> dict[str, list[Shard]]:
    found: dict[str, list[Shard]] = {}
    for shard, report in shards.items():
        found.setdefault(read(report), []).append(shard)
    return found


def _in_words(values: dict[str, list[Shard]]) -> str:
    return "; ".join(f"{value} in {plural_of('shard', shards)}" for value, shards in values.items())


def merged(shards: Shards) -> Report:
    """One report of all shards; `exit_code` is what one run of all cases would have ended with."""
    first, reports = next(iter(shards.values())), list(shards.values())
    count = next(iter(shards)).count
    missing = [one for index in range(1, count + 1) if (one := Shard(index, count)) not in shards]
    names = sorted({one["name"] for report in reports for one in report["properties"]})
    properties = [_property(name, shards) for name in names]
    notes = [f"{what}: {_in_words(found)}" for what, read in TOLD.items() if len(found := _by_value(shards, read)) > 1]
    notes += [f"shard {shard} {why}" for shard, report in shards.items() if (why := _unexplained(report))]
    launches = _launches(reports)
    others = {
        kind: sum(report["other_tests"].get(kind, 0) for report in reports) for kind in ("passed", "failed", "skipped")
    }
    verdicts = [one["verdict"] for one in properties]
    is_open = (
        bool(missing)
        or any(map(_unexplained, reports))
        or not properties
        or any(one["verdict"] == NOT_JUDGED and not one["is_excused"] for one in properties)
        or any(not ran for counts in launches.values() for ran in counts.values())
        or others["failed"] > 0
    )
    is_violated = VIOLATED in verdicts
    compiled = [report["totals"]["specialisations"] for report in reports]
    return {
        "version": VERSION,
        "verdict": VIOLATED if is_violated else NOT_JUDGED if is_open else HOLDS,
        "run": {
            "profile": ", ".join(_by_value(shards, TOLD["the profile differs"])),
            "seed": ", ".join(_by_value(shards, lambda report: str(report["run"]["seed"])))
            if _is_seeded(reports)
            else None,
            "started": min(report["run"]["started"] for report in reports),
            "seconds": max(report["run"]["seconds"] for report in reports),
            "exit_code": int(is_violated or is_open),
            "shard": None,
        },
        "shards": {
            "count": count,
            "missing": list(map(str, missing)),
            "notes": notes,
            "reports": [
                {
                    "shard": str(shard),
                    "verdict": report["verdict"],
                    "cases": report["totals"]["cases"],
                    "seconds": report["run"]["seconds"],
                    "exit_code": report["run"]["exit_code"],
                }
                for shard, report in shards.items()
            ],
        },
        "candidate": first["candidate"],
        "engine": {**first["engine"], "unjudged_dtypes": _unjudged(reports)},
        "versions": first["versions"],
        "totals": totals_of(properties, None if None in compiled else sum(compiled)),
        "groups": _groups(reports),
        "properties": properties,
        "configurations": launches,
        "other_tests": others,
    }


def _is_seeded(reports: list[Report]) -> bool:
    return any(report["run"]["seed"] is not None for report in reports)


def _unexplained(report: Report) -> str:
    """Why a shard's report does not say all of its run: it was ended, or failed over what no verdict tells."""
    code = report["run"]["exit_code"]
    if code not in JUDGED:
        return f"ended with exit code {code}"
    is_told = (
        report["verdict"] != NOT_JUDGED
        or report["other_tests"]["failed"]
        or any(one["verdict"] == NOT_JUDGED and not one["is_excused"] for one in report["properties"])
        or any(not ran for counts in report["configurations"].values() for ran in counts.values())
    )
    return "" if is_told else f"ended with exit code {code}, and its verdicts do not say why"


def _unjudged(reports: list[Report]) -> dict[str, str]:
    """The dtypes that no shard's engine judges."""
    every: list[dict[str, str]] = [report["engine"]["unjudged_dtypes"] for report in reports]
    return {dtype: why for dtype, why in every[0].items() if all(dtype in one for one in every)}


def _groups(reports: list[Report]) -> list[dict[str, Any]]:
    seconds: dict[str, float] = {}
    for report in reports:
        for group in report["groups"]:
            seconds[group["name"]] = seconds.get(group["name"], 0.0) + group["seconds"]
    return [{"name": name, "seconds": round(one, 3)} for name, one in seconds.items()]


def _launches(reports: list[Report]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for report in reports:
        configurations.merge(report["configurations"], into=found)
    return found


def _property(name: str, shards: Shards) -> Report:
    found = {shard: one for shard, report in shards.items() for one in report["properties"] if one["name"] == name}
    first, every = next(iter(found.values())), list(found.values())
    verdict, reasons, is_excused = _verdict(found, shards)
    return {
        **{field: first[field] for field in ("name", "group", "sentence", "operator")},
        "verdict": verdict,
        "reasons": reasons,
        "is_excused": is_excused,
        "elsewhere": [],
        "unreached": [],
        "is_left": False,
        **{field: sum(one.get(field, 0) for one in every) for field in ("cases", "seen_violated", "replays")},
        "edges": sorted({edge for one in every for edge in one["edges"]}),
        "seconds": round(sum(one["seconds"] for one in every), 3),
        "dtypes": _dtypes(every),
        "tests": _tests(every),
        "violations": _violations(found),
        "seen_beside": sorted({text for one in every for text in one["seen_beside"]}, key=len)[: tally.MOST_EXAMPLES],
    }


def _verdict(found: Shards, shards: Shards) -> tuple[str, list[str], bool]:
    """The verdict on a property, why, and whether it is excused from being judged."""
    if any(one["verdict"] == VIOLATED for one in found.values()):
        return (
            VIOLATED,
            sorted({why for one in found.values() if one["verdict"] == VIOLATED for why in one["reasons"]}),
            False,
        )
    unreached = {edge for one in found.values() for edge in one.get("unreached", [])}
    unreached -= {edge for one in found.values() for edge in one["edges"]}
    unjudged = {
        shard: one
        for shard, one in found.items()
        if one["verdict"] == NOT_JUDGED and not one.get("is_left") and not _is_vacuous(one)
    }
    why = [
        *_reasons({shard: one for shard, one in unjudged.items() if not one["is_excused"]}),
        *([f"no case of any shard reached: {', '.join(sorted(unreached))}"] if unreached else []),
        *_left_alone(found, shards),
    ]
    if why:
        return NOT_JUDGED, why, False
    held = {shard: one for shard, one in found.items() if one["verdict"] == HOLDS}
    if unjudged:
        holds = [f"holds in {plural_of('shard', held)}"] if held else []
        return NOT_JUDGED, [*_reasons(unjudged, len(unjudged) == len(found)), *holds], True
    if replays := sum(one.get("replays", 0) for one in held.values()):
        return HOLDS, [counted(replays, "replay")], False
    return HOLDS, sorted({note for one in held.values() for note in one["reasons"]}), False


def _left_alone(found: Shards, shards: Shards) -> list[str]:
    """What was left to shards that are missing, or that did not run all tests of a property."""
    every = {test["id"] for one in found.values() for test in one["tests"]}
    told = []
    for owner in sorted({Shard.read(name) for one in found.values() for name in one.get("elsewhere", [])}):
        if owner not in shards:
            told.append(f"left to shard {owner}, which is missing")
        elif owner not in found or every != {test["id"] for test in found[owner]["tests"]}:
            told.append(f"left to shard {owner}, which did not run all of its tests")
    return told


def _is_vacuous(one: Report) -> bool:
    """Whether all that kept a property from being judged is what its cases did not reach: another shard's may have."""
    return bool(one.get("unreached")) and not any(test["outcome"] == "failed" for test in one["tests"])


def _reasons(unjudged: Shards, is_everywhere: bool = False) -> list[str]:
    """Why a property is not judged, each reason with its shards, unless they are all."""
    by_reason: dict[str, list[Shard]] = {}
    for shard, one in unjudged.items():
        for why in one["reasons"] or ["without a reason"]:
            by_reason.setdefault(why, []).append(shard)
    if is_everywhere and len(by_reason) == 1:
        return list(by_reason)
    return [f"{plural_of('shard', shards)}: {why}" for why, shards in sorted(by_reason.items())]


def _dtypes(every: list[Report]) -> dict[str, str]:
    order = (NOT_JUDGED, HOLDS, VIOLATED)
    names = {dtype: None for one in every for dtype in one["dtypes"]}
    return {name: max((one["dtypes"].get(name, NOT_JUDGED) for one in every), key=order.index) for name in names}


def _tests(every: list[Report]) -> list[dict[str, Any]]:
    """Each test once: failed where it failed in any shard, passed where it passed in any, else skipped."""
    order, found = ("skipped", "passed", "failed"), dict[str, dict[str, Any]]()
    for test in (test for one in every for test in one["tests"]):
        same = found.setdefault(test["id"], {**test, "seconds": 0.0})
        same["outcome"] = max(same["outcome"], test["outcome"], key=order.index)
        same["seconds"] = round(same["seconds"] + test["seconds"], 3)
    return [found[name] for name in sorted(found)]


def _violations(found: Shards) -> list[Report]:
    """The smallest failing case of each test, with its shard; the smallest of all first."""
    every = [{**one, "shard": str(shard)} for shard, each in found.items() for one in each["violations"]]
    every.sort(key=lambda one: (by_size(one["case"]), one["test"]))
    smallest: dict[str, Report] = {}
    for one in every:
        smallest.setdefault(one["test"], one)
    return list(smallest.values())
