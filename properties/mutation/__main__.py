"""Measures the judge on mutants of a kernel: python -m properties.mutation [PATH] [--json FILE] …"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from properties.contract import DTYPES
from properties.mutation import operators
from properties.mutation.results import BadResults, Journal, Score, digest, equivalents, suite
from properties.mutation.running import Plan, Target, judged, preload, without_findings
from properties.mutation.source import Mutant, Source

EXIT_WRONG = 4


def parser() -> argparse.ArgumentParser:
    """The command line."""
    known = ", ".join(operators.every())
    one = argparse.ArgumentParser(prog="python -m properties.mutation", description=__doc__)
    one.add_argument("path", nargs="?", default="sconv", help="a kernel file, or a package's folder (default: sconv)")
    one.add_argument("--profile", choices=("pr", "nightly"), default="pr")
    one.add_argument("--engine", choices=("ttir", "cuda"), default="ttir")
    one.add_argument("--operators", metavar="A,B", help=f"only these: {known}")
    one.add_argument("--dtype", choices=DTYPES, help="only the tests of this dtype: a ladder for each")
    one.add_argument("--limit", type=int, metavar="N", help="at most so many mutants, spread evenly over the file")
    one.add_argument("--json", type=Path, metavar="FILE", help="keep results there; a run that was stopped goes on")
    one.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes at once (default: the cores)")
    one.add_argument("--time-limit", type=float, default=900, metavar="S", help="seconds for a mutant (default: 900)")
    one.add_argument("--seed", type=int, default=0, help="of Hypothesis, the same for every mutant and the control")
    one.add_argument("--all", action="store_true", help="go on after the first violation: who kills what")
    one.add_argument("--equivalents", action="store_true", help="run those listed as equivalent as well")
    one.add_argument("--no-control", action="store_true", help="trust that the file as it is holds")
    one.add_argument("--list", action="store_true", help="print the mutants and end")
    return one


def wanted(options: argparse.Namespace, target: Target) -> list[Mutant]:
    """The mutants asked for."""
    names = options.operators.split(",") if options.operators else None
    if unknown := set(names or ()) - set(operators.every()):
        raise ValueError(f"--operators names {', '.join(sorted(unknown))}; allowed: {', '.join(operators.every())}")
    found = [one for path in target.files for one in operators.mutants(Source.read(path), names)]
    if not options.equivalents:
        found = [one for one in found if one.key not in equivalents(target.path.name)]
    if options.limit is not None and 0 < options.limit < len(found):
        found = [found[index * len(found) // options.limit] for index in range(options.limit)]
    return found


def main(arguments: list[str]) -> int:
    """Prints a line per mutant and the score; 1 if one survives, 0 if none does, 4 for a wrong request."""
    options = parser().parse_args(arguments)
    path = Path(options.path).resolve()
    try:
        if not path.exists():
            raise ValueError(f"{options.path} does not exist; allowed: a kernel file, or the folder of a package")
        target = Target(path)
        if not target.files:
            raise ValueError(f"{options.path} defines no @triton.jit function")
        mutants = wanted(options, target)
        asked = {name: getattr(options, name) for name in ("profile", "engine", "seed", "all", "dtype")}
        header = {"target": path.name, "digest": digest(target.files), "suite": suite(), **asked}
        journal = Journal(options.json, header)
    except (ValueError, BadResults, SyntaxError, OSError) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return EXIT_WRONG
    if options.list:
        print(*(f"line {one.line}: {one.key}" for one in mutants), sep="\n")
        return 0
    preload()
    plan = Plan(target, options.profile, options.engine, options.workers, options.time_limit, is_complete=options.all)
    plan = replace(plan, seed=options.seed, tests=(*plan.tests, *(["-k", options.dtype] if options.dtype else [])))
    controls: list[Mutant | None] = [] if options.no_control else [None]
    if controls:
        plan, red = without_findings(plan)
        print(*(f"left out, since the file as it is fails it: {one}" for one in red), sep="\n", flush=True)
    left = [one for one in [*controls, *mutants] if (one.key if one else "control") not in journal.done]
    began = time.monotonic()
    for number, result in enumerate(judged(plan, left), 1):
        journal.add(result)
        by = f" by {', '.join(result['killed_by'])} in {result['seconds']} s" if result["killed_by"] else ""
        print(f"{number}/{len(left)} {result['state']}{by}: {result['key']}", flush=True)
    score = Score(journal.results, equivalents(path.name))
    print(*score.lines(), f"{time.monotonic() - began:.0f} s", sep="\n")
    return int(len(score.of("killed")) < len(score.valid))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
