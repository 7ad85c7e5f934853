"""Recall: whether a wrong row is what other inputs give in place of its cached taps: those of an earlier forward."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from properties.arithmetic import contract_value, tap_values
from properties.calls import Call
from properties.causes import Run
from properties.contents import bits
from properties.serving import Server


def recalled(server: Server, which: int, index: int, run: Run, row: int) -> str:
    """In words, the inputs of an earlier forward that give a row exactly if its cached taps are they; empty if none do.

    which: the forward of the log, index: the stream among all layers', run: what it gave.
    """
    values, span = tap_values(run.call), server.parts[index].channels
    cached = [tap.index for tap in run.call.meant(row, 0) if tap.meant.kind == "cache"][::-1]
    found = []
    for words, taps in _others(server, which, span, cached):
        tried = values.clone()
        for tap, value in taps.items():
            tried[tap, row] = value.float()
        if taps and _gives(run.call, tried, run.out, row):
            found.append(words)
    return f"it is what comes out if {found[0]}" if found else ""


def _others(
    server: Server, which: int, span: slice, cached: list[int]
) -> Iterator[tuple[str, dict[int, torch.Tensor]]]:
    """What the cached taps, the newest first, may be instead, the latest forward first: in words, and `[C]` by tap."""
    yield f"taps {_listed(cached)} are 0", {tap: torch.zeros(span.stop - span.start) for tap in cached}
    for earlier in range(which, -1, -1):
        x = server.log[earlier].x[:, span].cpu()
        for last in range(len(x) - 1, -1, -1):
            taps = {tap: x[last - back] for back, tap in enumerate(cached) if back <= last}
            words = [f"tap {tap} is x[{last - back}]" for back, tap in enumerate(cached) if back <= last]
            yield f"{', '.join(words[::-1])} of forward {earlier}", taps
            if len(taps) > 1:
                yield f"tap {cached[0]} is x[{last}] of forward {earlier}", {cached[0]: x[last]}
    for tap in cached:
        yield f"tap {tap} is 0", {tap: torch.zeros(span.stop - span.start)}


def _listed(taps: list[int]) -> str:
    return ", ".join(map(str, sorted(taps)))


def _gives(call: Call, values: torch.Tensor, out: torch.Tensor, row: int) -> bool:
    """Whether these taps give every element of a row, to the bit where it is rounded once."""
    truth, allowed = contract_value(call, values)
    if out.dtype == torch.float32:
        return bool(((out[row].double() - truth[row]).abs() <= allowed[row]).all())
    return bool((bits(out[row]) == bits(truth[row].to(out.dtype))).all())
