"""Replays one case: python -m properties.replay CANDIDATE PROPERTY "CASE" [--engine NAME]."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from properties import cases, catalogue, lives, replays
from properties.candidate import BadCandidate
from properties.engines import BadEngine
from properties.judge import Judge
from properties.verdict import NotJudged, Violation


def replay(candidate: str, property_name: str, case: Any, engine: str = "auto") -> None:
    """Judges one case of one property ("values.dense_exact"), with autotuned kernels in each of their configurations.

    Raises its Violation, or NotJudged.
    """
    known = [entry.name for entry in catalogue.entries()]
    if property_name not in known:
        raise ValueError(f"property {property_name!r} is unknown; allowed: {', '.join(known)}")
    group, name = property_name.split(".")
    invariant = getattr(importlib.import_module(f"properties.invariants.{group}"), name)
    ops = Judge.from_options(candidate, engine, Path.cwd()).ops
    for choice in range(ops.configurations):
        try:
            invariant(ops.configured(choice), case)
        except Violation as violation:
            raise violation.explain() from None


def main(arguments: list[str]) -> int:
    """Prints the violation and returns 1, or says that the case holds and returns 0; 4 for a wrong request."""
    parser = argparse.ArgumentParser(prog="python -m properties.replay", description=__doc__)
    parser.add_argument("candidate")
    parser.add_argument("property")
    parser.add_argument("case", help="as a failure prints it: Forward(...), Metadata(...), Life(...)")
    parser.add_argument("--engine", default="auto")
    options = parser.parse_args(arguments)
    try:
        names = vars(cases) | vars(lives) | vars(replays)
        replay(options.candidate, options.property, eval(options.case, names), options.engine)
    except Violation as violation:
        print(violation)
        return 1
    except (BadCandidate, BadEngine, NotJudged, ValueError, NameError, TypeError, SyntaxError) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 4
    except Exception as error:  # the candidate's own are violations by now
        print(f"ERROR: cannot judge that case: {type(error).__name__}: {error}", file=sys.stderr)
        return 4
    print(f"holds: {options.property} for {options.case}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
