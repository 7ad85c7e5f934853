"""Verdicts of proofs in words."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from properties.cases import Geometry
from properties.proofs import requests
from properties.proofs.axioms import AXIOMS
from properties.proofs.prove import METADATA, OBLIGATIONS, Verdict
from properties.proofs.world import Limits
from properties.verdict import PROVED, VIOLATED

ROOT = Path(__file__).parents[2]
SENTENCES = {one.name: one.sentence for one in (*OBLIGATIONS, METADATA)}


def lines(verdict: Verdict, target: str) -> list[str]:
    """One line for what was found, with others for how far it goes, where it fails and how to see it."""
    words = {PROVED: SENTENCES[verdict.obligation], VIOLATED: f"it does not hold that {verdict.reason}"}.get(
        verdict.what, verdict.reason
    )
    found = [f"{verdict.what:<10} {verdict.obligation:<10} {words}"]
    if verdict.what == PROVED:
        idle = f", {verdict.idle} of accesses that never happen" if verdict.idle else ""
        found[0] += f" ({verdict.claims:,} claims{idle}; {verdict.seconds:.1f} s, slowest {verdict.slowest:.1f} s)"
        if verdict.most_rows is not None:
            found.append(f"{'':<22}for T <= {verdict.most_rows:,}; beyond that an index wraps at {verdict.at}")
        if verdict.scope:
            found.append(f"{'':<22}for {verdict.scope}")
        return found
    if verdict.variant:
        found.append(f"{'':<22}in the program for {verdict.variant}")
    if verdict.what == VIOLATED:
        found.append(f"{'':<22}at {verdict.at}")
    if verdict.what == VIOLATED:
        found.append(f"{'':<22}confirmed: {command(verdict, target)}")
    return found


def command(verdict: Verdict, target: str) -> str:
    """What shows a violation again, from whatever folder."""
    python = Path(sys.executable)
    words = [
        str(python.relative_to(ROOT) if python.is_relative_to(ROOT) else python),
        "-m", "properties.replay", target, verdict.property_name, repr(verdict.case), "--engine", "ttir",
    ]  # fmt: skip  # one command
    return f"cd {shlex.quote(str(ROOT))} && {shlex.join(words)}"


def header(title: str, geometry: Geometry, programs: int) -> list[str]:
    """What is proved of what."""
    count = "1 compiled program" if programs == 1 else f"{programs} compiled programs"
    return [f"proving: {title}, fused_sconv, at {geometry!r}: {count}"]


def footer() -> list[str]:
    """What the verdicts rest on, and what they leave out."""
    limits = Limits()
    found = ["assuming, for every number of rows, requests and blocks, and all of their contents:"]
    found += [f"  {name:<17} {sentence}" for name, sentence in {**AXIOMS, **requests.AXIOMS}.items()]
    found += [
        f"  {'limits':<17} T <= {limits.rows:,}; positions below {limits.positions:,}; the table has at most "
        f"{limits.table:,} elements from first to last, the cache {limits.cache:,}; strides below 2**31",
        f"  {'exact integers':<17} accesses, conflicts and taps are about integers that do not wrap, as wraps shows",
        f"  {'layout':<17} pages [H, N, D] and weight [C, W] are contiguous; rows of x, pages, table rows may be apart",
        f"  {'launch':<17} arguments and grid follow the sizes as in the calls that were tried",
        f"  {'floating point':<17} uninterpreted operations in the written order; the compiler below TTIR is trusted",
        "not proved here: other geometries and dtypes",
    ]
    return found
