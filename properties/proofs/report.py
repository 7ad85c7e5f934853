"""Verdicts of proofs in words."""

from __future__ import annotations

import shlex

from properties.cases import Geometry
from properties.proofs.axioms import AXIOMS
from properties.proofs.prove import OBLIGATIONS, PROVED, Verdict
from properties.proofs.world import Limits
from properties.verdict import VIOLATED

SENTENCES = {one.name: one.sentence for one in OBLIGATIONS}


def lines(verdict: Verdict, target: str) -> list[str]:
    """One line for what was found, with a second one for where, or how to see it."""
    rows = "" if verdict.most_rows is None else f", for T <= {verdict.most_rows:,}"
    words = {PROVED: SENTENCES[verdict.obligation], VIOLATED: f"it does not hold that {verdict.reason}"}.get(
        verdict.what, verdict.reason
    )
    found = [f"{verdict.what:<10} {verdict.obligation:<10} {words}{rows}"]
    if verdict.what == PROVED:
        idle = f", {verdict.idle} of accesses that never happen" if verdict.idle else ""
        found[0] += f" ({verdict.claims} claims{idle}; {verdict.seconds:.1f} s, slowest {verdict.slowest:.1f} s)"
    elif verdict.variant:
        found.append(f"{'':<22}of the program for {verdict.variant}")
    if verdict.at:
        found.append(f"{'':<22}{'limited' if verdict.what == PROVED else 'at'}: {verdict.at}")
    if verdict.what == VIOLATED:
        found.append(f"{'':<22}confirmed: python -m properties.replay {shlex.quote(target)} {verdict.property_name} "
                     f'"{verdict.case!r}" --engine ttir')  # fmt: skip  # one command
    return found


def header(title: str, geometry: Geometry, programs: int) -> list[str]:
    """What is proved of what."""
    return [f"proving: {title}, fused_sconv, at {geometry!r}: {programs} compiled programs"]


def footer() -> list[str]:
    """What the verdicts rest on, and what they leave out."""
    limits = Limits()
    found = ["assuming, for every number of rows, requests and blocks, and all of their contents:"]
    found += [f"  {name:<17} {sentence}" for name, sentence in AXIOMS.items()]
    found += [
        f"  {'limits':<17} T <= {limits.rows:,}; positions below {limits.positions:,}; the table has at most "
        f"{limits.table:,} elements from first to last, the cache {limits.cache:,}; strides below 2**31",
        f"  {'exact integers':<17} accesses, conflicts and taps are proved of integers that do not wrap: see wraps",
        f"  {'layout':<17} pages [H, N, D] and weight [C, W] are contiguous; rows of x, pages, table rows may be apart",
        f"  {'launch':<17} arguments and grid follow the sizes as in the calls that were tried",
        f"  {'floating point':<17} uninterpreted operations in the written order; the compiler below TTIR is trusted",
        "not proved here: other geometries and dtypes, sconv_seq_metadata",
    ]
    return found
