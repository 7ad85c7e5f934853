"""The page of mutation scores: python -m properties.mutation.page RESULTS… > docs/mutation.md."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from properties.mutation.results import Score, equivalents


def section(path: Path) -> list[str]:
    """One file of results: its score, the ladder, and which properties kill."""
    head, *lines = path.read_text().splitlines()
    header, results = json.loads(head), [json.loads(line) for line in lines]
    reasons = equivalents(header["target"])
    score = Score(results, reasons)
    out = [
        f"## {header['target']}, profile {header['profile']}, engine {header['engine']}",
        "",
        f"Files {header['digest']}, judged by suite {header['suite']}, seed {header['seed']}.",
        "",
        *score.lines(),
        "",
        *_ladder(results),
        *_killers(score.of("killed"), is_complete=header["all"]),
    ]
    if reasons:
        out += ["Equivalent, each with its reason:", "", *(f"- `{key}`: {why}" for key, why in reasons.items()), ""]
    return out


def _ladder(results: list[dict[str, Any]]) -> list[str]:
    steps = {one["key"]: one["state"] for one in results if one["operator"] == "scale"}
    if not steps:
        return []
    lost = [key for key, state in steps.items() if state != "killed"]
    return [f"Ladder of scaled results: {len(steps) - len(lost)} of {len(steps)} steps are seen.", ""]


def _killers(killed: list[dict[str, Any]], is_complete: bool) -> list[str]:
    first = Counter(name for one in killed for name in one["killed_by"])
    alone = Counter(one["killed_by"][0] for one in killed if len(one["killed_by"]) == 1)
    if is_complete:
        lines = ["| property | kills | alone |", "|---|---|---|"]
        return [*lines, *(f"| {name} | {count} | {alone[name]} |" for name, count in first.most_common()), ""]
    lines = ["| property | first to kill |", "|---|---|"]
    return [*lines, *(f"| {name} | {count} |" for name, count in first.most_common()), ""]


def page(paths: list[Path]) -> str:
    """The page of several files of results."""
    lines = [
        "# Mutation scores",
        "",
        "Written by `python -m properties.mutation.page` from the results of `python -m properties.mutation --json`.",
        "Each mutant differs from the kernel in one place. *Killed*: a property was judged violated. Mutants that do",
        "not import are invalid; all others count, unless listed as equivalent with a reason.",
        "",
    ]
    return "\n".join([*lines, *(line for path in paths for line in section(path))]).rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(page([Path(name) for name in sys.argv[1:]]))
