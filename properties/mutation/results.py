"""Results of a run: kept line by line, so that a stopped run resumes; and the score that they make."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from properties.number_words import counted

ROOT = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).parent / "equivalent.json"  # file name -> key of a mutant -> why it is equivalent


def digest(paths: Iterable[Path]) -> str:
    """First 12 hex digits over files, in order of their names."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()[:12]


def suite() -> str:
    """The digest of what judges: properties, reference and tests, without this tool and the judge's own tests."""
    judging = [path for folder in ("properties", "reference", "tests") for path in (ROOT / folder).rglob("*.py")]
    return digest(path for path in judging if not {"mutation", "meta"} & set(path.relative_to(ROOT).parts))


class BadResults(Exception):
    """A file of results belongs to another run; the message is one line."""


@dataclass
class Journal:
    """A file with a header and a line for each result; None keeps nothing."""

    path: Path | None
    header: dict[str, Any]
    results: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.path is None:
            return
        if not self.path.exists():
            self.path.write_text(json.dumps(self.header) + "\n")
            return
        head, *lines = self.path.read_text().splitlines()
        found = json.loads(head)
        if different := [name for name in self.header if found.get(name) != self.header[name]]:
            values = ", ".join(f"{name} {found.get(name)!r} instead of {self.header[name]!r}" for name in different)
            raise BadResults(f"{self.path} holds results of another run: {values}; remove it, or name another file")
        self.results = [json.loads(line) for line in lines]

    @property
    def done(self) -> set[str]:
        """The keys that have a result."""
        return {result["key"] for result in self.results}

    def add(self, result: dict[str, Any]) -> None:
        """Keeps a result."""
        self.results.append(result)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(result) + "\n")


def equivalents(name: str) -> dict[str, str]:
    """Keys of the mutants of a file that change nothing that anyone can see, each with its reason."""
    if not EQUIVALENT.exists():
        return {}
    reasons: dict[str, dict[str, str]] = json.loads(EQUIVALENT.read_text())
    return reasons.get(name, {})


@dataclass
class Score:
    """What became of the mutants of a run."""

    results: list[dict[str, Any]]
    equivalent: dict[str, str]

    def of(self, state: str) -> list[dict[str, Any]]:
        """Results in a state, the control and equivalent mutants left out."""
        return [one for one in self._counted if one["state"] == state]

    @property
    def _counted(self) -> list[dict[str, Any]]:
        return [one for one in self.results if one["key"] != "control" and one["key"] not in self.equivalent]

    @property
    def valid(self) -> list[dict[str, Any]]:
        """All that import and are not equivalent: what is not killed among them counts against the judge."""
        return [one for one in self._counted if one["state"] != "invalid"]

    def lines(self) -> list[str]:
        """The score as a table, its survivors, and what the control did."""
        killed, valid = self.of("killed"), self.valid
        lines = ["| operator | mutants | killed | not | median seconds | killed by |", "|---|---|---|---|---|---|"]
        for operator in dict.fromkeys(one["operator"] for one in valid):
            mine = [one for one in valid if one["operator"] == operator]
            dead = [one for one in mine if one["state"] == "killed"]
            seconds = f"{median(one['seconds'] for one in dead):.1f}" if dead else ""
            by = Counter(name for one in dead for name in one["killed_by"][:1]).most_common(3)
            names = ", ".join(f"{name} {count}" for name, count in by)
            lines.append(f"| {operator} | {len(mine)} | {len(dead)} | {len(mine) - len(dead)} | {seconds} | {names} |")
        share = f"{len(killed) / len(valid):.1%}" if valid else "none"
        invalid = len(self.of("invalid"))
        lines += ["", f"{len(killed)} of {len(valid)} killed ({share}); {invalid} invalid; {self._argued} equivalent"]
        if killed:
            lines[-1] += f"; medians of a kill: {median(one['seconds'] for one in killed):.1f} s"
            rows = [rows for one in killed if (rows := rows_of(one["example"])) is not None]
            lines[-1] += f", a failing case of {counted(round(median(rows)), 'row')}" if rows else ""
        for control in (one for one in self.results if one["key"] == "control"):
            lines.append(f"control: {control['state']} in {control['took']:.0f} s {control['reason'][-300:]}".rstrip())
        for one in valid:
            if one["state"] != "killed":
                lines.append(f"{one['state']}: line {one['line']}: {one['key']} {one['reason'][-200:]}".rstrip())
        return lines

    @property
    def _argued(self) -> int:
        return sum(one["key"] in self.equivalent for one in self.results)


def rows_of(example: str) -> int | None:
    """How many rows the requests of a printed Forward have, padding included; None for other cases."""
    found = re.search(r"Failing case: (Forward\(.*)", example)
    if not found:
        return None
    requests = re.findall(r"Request\(([^)]*)\)", found[1])
    lengths = [int(one[1]) if (one := re.search(r"length=(\d+)", text)) else 1 for text in requests]
    pads = re.search(r"pads=(\d+)", found[1])
    return (sum(lengths) if "requests=" in found[1] else 1) + (int(pads[1]) if pads else 0)
