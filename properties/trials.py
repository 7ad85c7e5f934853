"""Trials: the call made again with other numbers, to see whether a computation gave its result by chance alone."""

from __future__ import annotations

import time

import torch

from properties.arithmetic import RIGHT, THE_RIGHT, computations, named, nearby, tap_values
from properties.calls import Call
from properties.probing import Probe

MOST = 24  # two roundings differ in a fourth of all numbers or more, so that all of them agree once in a thousand
SECONDS = 1.0  # that they may take


def upheld(probe: Probe, found: list[str]) -> list[str]:
    """Those of some computations, in words, that give the probed element for normal inputs and weights too."""
    generator = torch.Generator().manual_seed(0)
    begin = time.monotonic()
    for _ in range(MOST):
        if not found or time.monotonic() - begin > SECONDS:
            break
        for cells in (probe.inputs, probe.weights):
            cells.fill(torch.randn(cells.count, generator=generator))
        call = Call(probe.call.arguments)
        values = tap_values(call)  # before the call stores anything
        out, _ = probe.rerun(probe.call.arguments)
        got, here = out.detach().cpu(), torch.zeros(out.shape, dtype=torch.bool)
        here[probe.row, probe.channel] = True
        fits = {*named(call, values, got, here), *nearby(call, values, got, here)}
        if fits & {*RIGHT, THE_RIGHT}:  # what is not computed here differs from the right value for other numbers alone
            fits |= set(found) - {words for words, _ in computations(call, values)}
        found = [words for words in found if words in fits]
    return found
