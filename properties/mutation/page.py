"""The page of mutation scores: python -m properties.mutation.page RESULTS… > docs/mutation.md."""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from properties.mutation.results import Score, equivalents


def section(path: Path) -> list[str]:
    """One file of results: its score, the ladder, and which properties kill."""
    head, *lines = path.read_text().splitlines()
    header, results = json.loads(head), [json.loads(line) for line in lines]
    only = f", {header['dtype']}" if header.get("dtype") else ""
    score = Score(results, equivalents(header["target"]))
    return [
        f"## {header['target']}, profile {header['profile']}, engine {header['engine']}{only}",
        "",
        f"Files {header['digest']}, judged by suite {header['suite']}, seed {header['seed']}.",
        "",
        *score.lines(),
        "",
        *_ladder(results, header.get("dtype")),
        *_killers(score.of("killed"), is_complete=header["all"]),
    ]


def argued(target: str) -> list[str]:
    """The mutants of a file that are listed as equivalent, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for key, why in equivalents(target).items():
        by_reason.setdefault(why, []).append(key)
    lines = [f"## Equivalent mutants of {target}", ""]
    for why, keys in by_reason.items():
        lines += [f"{why[0].upper()}{why[1:]}:", "", *(f"- `{key}`" for key in keys), ""]
    return lines if by_reason else []


def _ladder(results: list[dict[str, Any]], dtype: str | None) -> list[str]:
    """Down to which k a result that is 1 + 2^-k times too large is seen."""
    seen: dict[int, bool] = {}
    for one in results:
        if one["operator"] == "scale" and (found := re.search(r"\* (1\.\d+)", one["key"])):
            seen[round(-math.log2(float(found[1]) - 1))] = one["state"] == "killed"
    if not seen:
        return []
    missed = [k for k in sorted(seen) if not seen[k]]
    words = f"k = {min(seen)} to {max(seen)} are seen" if not missed else f"k = {', '.join(map(str, missed))} not seen"
    return [f"Results scaled by 1 + 2^-k, {dtype or 'all dtypes'}: {words}.", ""]


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
    lines += (line for path in paths for line in section(path))
    targets = dict.fromkeys(json.loads(path.read_text().splitlines()[0])["target"] for path in paths)
    lines += (line for target in targets for line in argued(target))
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(page([Path(name) for name in sys.argv[1:]]))
