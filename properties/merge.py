"""The reports of a run's shards as one: python -m properties.merge [--report OUT] DIR... (docs/machines.md)."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from properties.number_words import counted
from properties.report import write
from properties.report.document import failing, totals_line
from properties.report.merging import NoShards, by_shard, merged
from properties.verdict import VIOLATED

REPORT = "report.json"


def main(arguments: list[str]) -> int:
    """Writes the merged report and tells it; returns pytest's code for such a run: 0, 1, or 4 for a wrong request."""
    parser = Parser(prog="python -m properties.merge", description="merges the reports of a run's shards into one")
    parser.add_argument("folders", nargs="+", metavar="DIR", help="what --report of a shard was given")
    parser.add_argument("--report", default="merged", metavar="OUT", help="where the merged report goes (merged)")
    try:
        asked = parser.parse_args(arguments)
        out = Path(asked.report)
        if any(Path(folder).resolve() == out.resolve() for folder in asked.folders):
            raise NoShards(f"--report {asked.report} is the folder of a shard, whose report would be lost")
        report = merged(by_shard((str(Path(one) / REPORT), read(Path(one) / REPORT)) for one in asked.folders))
        paths = write(report, out)
    except (NoShards, OSError) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 4
    print(*lines(report), f"report: {', '.join(map(str, paths))}", sep="\n")
    return int(report["run"]["exit_code"])


class Parser(argparse.ArgumentParser):
    """Raises what is wrong with the arguments, to be told as all wrong requests are."""

    def error(self, message: str) -> Any:
        """Raises NoShards."""
        raise NoShards(message)


def read(path: Path) -> Any:
    """The data of a file; raises NoShards where it is no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise NoShards(f"{path} is no JSON: {error}") from None


def lines(report: dict[str, Any]) -> list[str]:
    """What the terminal is told: the smallest case of each violated property, then shards, properties and totals."""
    told = []
    for one in failing(report):
        for found in one["violations"][:1]:
            told += [found["text"].rstrip(), f"Found in:     shard {found['shard']}", ""]
        if not one["violations"]:
            told += [one["seen_beside"][0].rstrip(), ""]
    shards = report["shards"]
    for one in shards["reports"]:
        cases = counted(one["cases"], "case")
        told.append(f"{'shard ' + one['shard']:<14} {one['verdict']:<10} {cases:>16} {one['seconds']:>9,.0f} s")
    told += [f"{'shard ' + shard:<14} missing" for shard in shards["missing"]]
    told += [f"note: {note}" for note in shards["notes"]]
    told.append("")
    for one in report["properties"]:
        cases = counted(one["cases"], "case") if one["verdict"] != VIOLATED else ""
        told.append(f"{one['verdict']:<10} {one['name']:<28} {cases:>14}  {'; '.join(one['reasons'])}".rstrip())
    return [*told, f"{totals_line(report)}: {report['verdict']}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
