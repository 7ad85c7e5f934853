"""What one engine says of kernels, in a process of its own: python -m tests.meta.agreeing ENGINE DTYPE TARGET...

Triton's interpreter must be asked for before a kernel is defined, so no process has it and another engine. Prints JSON:
for each kernel the verdict on every drawn case, and a digest of all that a call without an activation leaves behind.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import torch
from hypothesis import given

from properties.candidate import load
from properties.cases import Forward
from properties.contents import bits
from properties.engines import choose
from properties.engines.base import Ops
from properties.engines.filling import filled_memory
from properties.engines.ttir import Ttir
from properties.invariants.run import forward
from properties.quality import same_anywhere
from properties.strategies import forwards
from properties.tensors import build
from properties.ttir import Machine
from properties.verdict import NotJudged, Violation
from tests.meta.drawing import generating
from tests.meta.judging_table import drawn_cases, table

GROUPS = ("values", "cache", "metadata")  # what every engine sees, in a call or two each
CASES = 6  # that are drawn for each property
CALLS = 60  # that are drawn to compare their bits
LARGEST = 128  # elements of x, or rows of metadata, of a case that is judged: Triton's interpreter is slow


class Uncontracted(Ttir):
    """The machine without contraction of products and sums."""

    @contextmanager
    def running(self, read_only: list[torch.Tensor]) -> Iterator[Any]:
        """Replaces Triton's launch by that of such a machine."""
        with filled_memory(), Machine(read_only=read_only, fma=False) as machine:
            yield machine


def verdicts(ops: Ops, dtype: str) -> dict[str, str]:
    """What is said of each case: `holds`, or the property that is violated."""
    found = {}
    for name, judged in table(dtype).items():
        if judged.group not in GROUPS:
            continue
        for number, case in enumerate(filter(is_small, drawn_cases(name, dtype, CASES))):
            found[f"{name} {number} {case!r}"] = verdict(ops, judged.invariant, case)
    return found


def is_small(case: Any) -> bool:
    """Whether every engine judges a case in little time."""
    return (case.T * case.geometry.C if isinstance(case, Forward) else sum(case.lengths) * case.repeat) <= LARGEST


def verdict(ops: Ops, invariant: Any, case: Any) -> str:
    """The verdict on one case."""
    try:
        invariant(ops, case)
    except Violation as violation:
        return violation.property_name
    except NotJudged as reason:
        return f"not judged: {reason}"
    return "holds"


def left(ops: Ops, dtype: str) -> dict[str, str]:
    """The digest of output and arguments after the call of each case; the bits of a NaN are nobody's promise."""
    cases: list[Forward] = []

    @generating(CALLS)
    @given(forwards(dtype, ("normal",)))
    def keep(case: Forward) -> None:
        cases.append(case)

    with same_anywhere():
        keep()
    found = {}
    for case in filter(is_small, cases):
        batch = build(case)
        try:
            out = forward(ops, batch, "values.dense_bound")
        except Violation as violation:
            found[repr(case)] = violation.headline
            continue
        tensors = [out, *(one.memory for _, one in sorted(batch.guarded.items()))]
        whole = [bits(torch.where(one.isnan(), torch.nan, one)).numpy().tobytes() for one in tensors]
        found[repr(case)] = sha256(b"".join(whole)).hexdigest()
    return found


def main(engine: str, dtype: str, *targets: str) -> None:
    """Prints what an engine says."""
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
    chosen = choose(engine)
    kernels = {target: load(target) for target in targets}
    said = {target: {"verdicts": verdicts(chosen.bind(kernel), dtype)} for target, kernel in kernels.items()}
    for target, kernel in kernels.items():
        said[target]["contracted"] = left(chosen.bind(kernel), dtype)
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "0"  # of kernels that are compiled from now on
    plainly = Uncontracted() if engine == "ttir" else chosen
    for target, kernel in kernels.items():
        said[target]["bits"] = left(plainly.bind(kernel), dtype)
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
