"""How a test proves one obligation: what cannot be proved is not judged and fails no run, what is violated does."""

from __future__ import annotations

import pytest

from properties import tally
from properties.engines.base import Ops
from properties.invariants import proof
from tests.judging import fail, leave
from tests.keys import ELSEWHERE


def prove(request: pytest.FixtureRequest, ops: Ops, entry: tally.Property, dtype: str = "bf16") -> None:
    """Proves at each geometry of the profile; the test is skipped, and says why, where one is not proved.

    A proof is a bonus: a candidate that is outside of what the proofs understand is judged by its cases alone.
    """
    __tracebackhide__ = True
    if excuse := entry.excuse(ops):
        leave(entry, excuse)
    if elsewhere := request.node.stash.get(ELSEWHERE, None):
        tally.leave_to(entry.name, elsewhere)
        pytest.skip(f"not judged [{entry.name}]: left to shard {elsewhere}")
    is_whole = (request.config.getoption("--hypothesis-profile") or "pr") != "pr"
    with tally.apart():
        found = proof.judge(ops, entry, dtype, is_whole)
        violation = None if found.violated is None else proof.violation(ops.candidate.target, found.violated)
    count = tally.COUNTS.setdefault(entry.name, tally.Count())
    count.judged += found.programs
    count.notes |= found.notes
    if violation is not None and found.violated is not None:
        for name in {entry.name, violation.property_name}:
            tally.COUNTS.setdefault(name, tally.Count()).violated += 1
        fail(request, ops, violation, f"\n\nFound by a proof: it does not hold that {found.violated.reason}.")
    if found.reasons:
        count.reasons |= found.reasons.keys()
        count.excused = True
        pytest.skip(f"not judged [{entry.name}]: {found.why_not}")
