"""Activating: which other activation a kernel applies, by what it makes of sums that are known."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from properties.linearity import PAIRS
from properties.probing import SECONDS, Found, Probe

SUMS = (-1.0, 1.0, -2.0, 2.0, 0.5)  # of one tap with weight 1; every dtype holds them
FAST = 1e-5  # relative error of a fast exponential, where the dtype is finer


def activated(probe: Probe, found: Found) -> str:
    """What the activation makes of known sums, in words; empty where that is right, none is asked or it takes long."""
    taps = [tap.index for tap in found.taps if tap.meant.kind != "nothing"]
    activation = probe.call.arguments["activation"]
    calls = len(SUMS) + (len(PAIRS) + 1) * len(taps)  # nonlinear has made its own before
    if activation is None or not taps or not found.is_complete or calls * probe.seconds > SECONDS:
        return ""
    weights = probe.one_hot(taps[-1])
    gives = {one: probe.value(torch.full((probe.inputs.count,), one), weights, activation=activation) for one in SUMS}
    exact = max(FAST, torch.finfo(probe.out.dtype).eps)

    def fits(function: Callable[[float], float]) -> bool:
        return all(math.isclose(gives[one], function(one), rel_tol=exact) for one in SUMS)

    if fits(_silu):
        return ""
    for words, function in (
        ("the activation is applied twice", lambda one: _silu(_silu(one))),
        ("the activation is x * sigmoid(x) ** 2", lambda one: _silu(one) * _silu(one) / one),
        ("the activation is tanh", math.tanh),
    ):
        if fits(function):
            return words
    if 0 < (share := -gives[-1.0]) < 1:  # that of a negative sum is the most exact
        slope = math.log(1 / share - 1)
        if fits(lambda one: _silu(slope * one) / slope if slope else one / 2):
            digits = max(2, round(-math.log10(exact)) - 1)
            return f"the activation is x * sigmoid({slope:.{digits}g} * x), which should be x * sigmoid(x)"
    worst = max(SUMS, key=lambda one: abs(gives[one] - _silu(one)))
    return f"the activation makes {gives[worst]:.4g} of {worst:g}, but should make {_silu(worst):.4g}"


def _silu(one: float) -> float:
    return one / (1 + math.exp(-one))
