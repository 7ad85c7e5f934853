"""Streams: the streams of a layer share a cache and never touch one another."""

from __future__ import annotations

from typing import Any

import torch

from properties.cases import Streams, streams_edges
from properties.contents import bits
from properties.invariants.run import compare_bits, forward, place
from properties.tally import invariant
from properties.tensors import Batch, build
from properties.verdict import Violation


@invariant("streams", needs={"another order", "cached tap", "stored row", "two requests"}, edges=streams_edges)
def any_order(ops: Any, case: Streams) -> None:
    """The four streams in any order, in one cache, give what each gives alone in its own, bit for bit."""
    __tracebackhide__ = True
    alone = [build(part, device=ops.device) for part in case.forwards]
    together = [build(part, device=ops.device) for part in case.forwards]
    shared = together[0].cache
    for batch in together[1:]:
        _stream(batch, shared).copy_(_stream(batch, batch.cache))
    between = shared.clone()
    outputs = [forward(ops, batch, "streams.any_order") for batch in alone]
    for index in case.order:
        batch = together[index]
        batch.arguments["cache"] = shared
        out = forward(ops, batch, "streams.any_order")
        compare_bits("streams.any_order", batch, out, outputs[index])
        _stream(batch, between).copy_(_stream(batch, alone[index].cache))
        _compare_caches(case, index, shared, between)


def _stream(batch: Batch, cache: torch.Tensor) -> torch.Tensor:
    geometry = batch.case.geometry
    return cache[..., geometry.off_s : geometry.off_s + geometry.ws]


def _compare_caches(case: Streams, index: int, got: torch.Tensor, wanted: torch.Tensor) -> None:
    __tracebackhide__ = True
    wrong = bits(got) != bits(wanted)
    if wrong.any():
        geometry = case.forwards[index].geometry
        words = (
            f"is wrong after stream {index} ran, which owns d {geometry.off_s} to {geometry.off_s + geometry.ws - 1}"
        )
        raise Violation("streams.any_order", "cache", where=place(wrong), got=words, case=case)
