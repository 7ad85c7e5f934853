"""Shares: what part of each tap comes out where a probe finds no whole inputs: of an average, or under another weight.

Inputs of one number say that something is scaled, not of what; one tap's input at a time does.
"""

from __future__ import annotations

import math

import torch

from properties.cells import single
from properties.probing import BASE, SECONDS, Probe

ROUGH = 0.02  # relative error of a sum of rounded shares
DIGITS = ".3g"  # what bf16 holds of a share
Row = dict[int, float]  # the share of each tap under some weights


def told(probe: Probe, strange: str) -> str:
    """Which shares of which taps come out under which weights, in words; `strange` where it is no sum of shares."""
    taps = [tap.index for tap in probe.meant if tap.meant.kind != "nothing"]
    if not taps or (len(taps) + 1) * (len(taps) + 3) * probe.seconds > SECONDS:
        return strange
    bare = _row(probe, torch.zeros(probe.weights.count))
    if bare is None:
        return strange
    if any(bare.values()):
        return f"with all weights 0 and no residual, {_mixed(bare)} comes out"
    rows = {tap: _row(probe, probe.one_hot(tap)) for tap in taps}
    found = {tap: row for tap, row in rows.items() if row is not None}
    if len(found) < len(taps):
        return strange
    if not any(share for tap, row in found.items() for other, share in row.items() if other != tap):
        own = {tap: f"{row[tap]:{DIGITS}}" for tap, row in found.items()}
        if len(taps) > 1 and len(set(own.values())) == 1:
            return f"each tap counts {own[taps[0]]} times"
        return ", ".join(f"tap {tap} counts {share} times" for tap, share in own.items() if share != "1") or strange
    if len({_mixed(row) for row in found.values()}) == 1:
        return f"with weight 1 for any one tap and 0 for the others, {_mixed(found[taps[0]])} comes out"
    tap = next(tap for tap, row in found.items() if row != {one: float(one == tap) for one in row})
    return f"with weight 1 for tap {tap} and 0 for the others, {_mixed(found[tap])} comes out"


def _row(probe: Probe, weights: torch.Tensor) -> Row | None:
    """The share of each tap under some weights; None where what comes out is no sum of such shares."""
    ones = torch.ones(probe.inputs.count)
    none, once, twice = (probe.value(number * ones, weights) for number in (0, 1, 2))
    numbers = {tap.index: number for tap in probe.meant if (number := probe.number(tap.meant)) is not None}
    shares = {tap: probe.value(BASE * single(probe.inputs, one), weights) / BASE for tap, one in numbers.items()}
    is_sum = math.isclose(sum(shares.values()), once, rel_tol=ROUGH) and math.isclose(2 * once, twice, rel_tol=ROUGH)
    return shares if is_sum and none == 0 else None


def _mixed(row: Row) -> str:
    """`0.333 of each tap`, or the taps with a share."""
    shares = {tap: f"{share:{DIGITS}}" for tap, share in row.items() if share}
    if len(row) > 1 and len(shares) == len(row) and len(set(shares.values())) == 1:
        return f"{shares.popitem()[1]} of each tap"
    return " and ".join(f"{share} of tap {tap}" for tap, share in shares.items()) or "nothing"
