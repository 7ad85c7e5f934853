"""Linearity: whether a tap is its whole input times its whole weight, which ones alone do not show."""

from __future__ import annotations

import torch

from properties.probing import BASE, SECONDS, Found, Probe

PAIRS = ((-1, 1), (1, -2), (BASE, 1))  # of an input and a weight, whose products no dtype rounds


def nonlinear(probe: Probe, found: Found) -> str:
    """What a negative input or weight gives, or what a tap less the residual leaves, in words; empty where right."""
    taps = [tap.index for tap in found.taps if tap.meant.kind != "nothing"]
    is_added = found.added and not probe.call.arguments["use_residual"]
    if is_added or not found.is_complete or (1 + (len(PAIRS) + 1) * len(taps)) * probe.seconds > SECONDS:
        return ""
    for given, weight in PAIRS:
        gives = {tap: _value(probe, given, tap, weight) for tap in taps}
        if any(value != given * weight for value in gives.values()):
            named, value = _first(gives, given * weight)
            return f"{named} gives {value:g} for an input of {given} and a weight of {weight}"
    if _value(probe, 1, use_residual=True) != 1:
        return ""  # nothing that a tap can be held against
    left = {tap: _value(probe, 1, tap, -1, use_residual=True) for tap in taps}  # so near 0, nothing is rounded away
    if not any(left.values()):
        return ""
    named, value = _first(left, 0)
    return f"{named} less the residual leaves {-value:.4g} of 1, as if it counted {1 - value:.6g} times"


def _value(probe: Probe, given: int, tap: int = 0, weight: int = 0, use_residual: bool = False) -> float:
    """The element where all inputs are the same, and one tap alone has a weight."""
    inputs = torch.full((probe.inputs.count,), float(given))
    return probe.value(inputs, weight * probe.one_hot(tap), use_residual=use_residual)


def _first(gives: dict[int, float], right: float) -> tuple[str, float]:
    """The first tap that does not give what is right, and what it gives; `each tap` where all give that."""
    tap = next(tap for tap in gives if gives[tap] != right)
    is_each = len(gives) > 1 and len(set(gives.values())) == 1
    return "each tap" if is_each else f"tap {tap}", gives[tap]
