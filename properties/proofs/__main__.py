"""Proves the obligations of a kernel: python -m properties.proofs [PATH|MODULE] [--geometry NAME|"Geometry(...)"].

Exits 0 where all are proved, 1 where one is violated or not judged, 4 where the request is wrong.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from typing import TYPE_CHECKING

from properties import allowed
from properties.candidate import BadCandidate, Candidate, load
from properties.cases import Geometry
from properties.engines import choose
from properties.proofs.geometries import REAL, SMALL
from properties.replay import case_of, quietly
from properties.verdict import NOT_JUDGED, PROVED

if TYPE_CHECKING:
    from properties.proofs.prove import Obligation, Verdict

NAMES = ", ".join(("small", "real", *REAL))


def main(arguments: list[str]) -> int:
    """Prints each obligation with its verdict."""
    parser = argparse.ArgumentParser(prog="python -m properties.proofs", description=__doc__.split("\n")[0])
    parser.add_argument("candidate", nargs="?", default="sconv", metavar="PATH|MODULE", help="as --candidate of pytest")
    parser.add_argument(
        "--geometry",
        metavar="NAME|GEOMETRY",
        help=f'{NAMES}, or "Geometry(H=..., ws=..., ...)"; without it a small one and inkling-global',
    )
    parser.add_argument(
        "--obligation", metavar="NAME", help="accesses, conflicts, taps, wraps or metadata; all if absent"
    )
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("z3") is None:
        print("ERROR: proofs need z3: `make judge` installs it, or pip install z3-solver", file=sys.stderr)
        return 4
    from properties.proofs import report  # needs z3
    from properties.proofs.prove import METADATA, OBLIGATIONS

    try:
        geometries = _geometries(options.geometry)
        obligations = [one for one in OBLIGATIONS if options.obligation in (None, one.name)]
        if not obligations and options.obligation != METADATA.name:
            names = ", ".join(one.name for one in (*OBLIGATIONS, METADATA))
            raise ValueError(f"--obligation is {options.obligation!r}, but must be one of {names}")
        candidate = load(options.candidate)
    except (BadCandidate, ValueError) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 4
    verdicts = []
    for geometry in geometries if obligations else ():
        verdicts += _of_forwards(candidate, geometry, obligations)
    if options.obligation in (None, METADATA.name):
        verdicts += _of_metadata(candidate)
    print(*report.footer(), sep="\n")
    return int(any(verdict.what != PROVED for verdict in verdicts))


def _of_forwards(candidate: Candidate, geometry: Geometry, obligations: list[Obligation]) -> list[Verdict]:
    """Proves and prints the obligations of `fused_sconv` at a geometry, if the candidate offers it."""
    from properties.proofs import report
    from properties.proofs.launches import NotJudged
    from properties.proofs.prove import Verdict, prove_all, variants

    operator = candidate.operators.get("fused_sconv")
    if operator is None:
        print("missing    fused_sconv is not offered by the candidate\n")
        return []
    try:
        programs = variants(operator, geometry, choose("ttir").bind(candidate).configurations)
    except NotJudged as reason:
        print(f"proving: {candidate.title}, fused_sconv, at {geometry!r}\nnot judged: {reason}\n")
        return [Verdict("", NOT_JUDGED, reason=str(reason))]
    print(*report.header(candidate.title, geometry, len(programs)), sep="\n")
    verdicts = []
    for obligation in obligations:
        verdicts.append(prove_all(candidate.target, programs, obligation))
        print(*report.lines(verdicts[-1], candidate.target), sep="\n", flush=True)
    print()
    return verdicts


def _of_metadata(candidate: Candidate) -> list[Verdict]:
    """The same for `sconv_seq_metadata`, which has no geometry."""
    from properties.proofs import report
    from properties.proofs.prove import prove_metadata
    from properties.proofs.requests import MOST_REQUESTS

    operator = candidate.operators.get("sconv_seq_metadata")
    if operator is None:
        print("missing    sconv_seq_metadata is not offered by the candidate\n")
        return []
    print(f"proving: {candidate.title}, sconv_seq_metadata")
    verdict = prove_metadata(candidate.target, operator, MOST_REQUESTS)
    print(*report.lines(verdict, candidate.target), "", sep="\n", flush=True)
    return [verdict]


def _geometries(text: str | None) -> tuple[Geometry, ...]:
    """The geometries that an option names. Raises ValueError in one line."""
    named = {"small": SMALL, "real": tuple(REAL.values()), **{name: (one,) for name, one in REAL.items()}}
    if text is None:
        return (SMALL[1], REAL["inkling-global"])
    if "(" not in text:
        if text not in named:
            raise ValueError(f"--geometry is {text!r}, but must be {NAMES}, or a Geometry(...)")
        return named[text]
    geometry = case_of(text)
    if not isinstance(geometry, Geometry):
        raise ValueError(f"--geometry is {text!r}, but must be {NAMES}, or a Geometry(...)")
    if fault := allowed.fault(geometry):
        raise ValueError(fault)
    return (geometry,)


if __name__ == "__main__":
    sys.exit(quietly(lambda: main(sys.argv[1:])))
