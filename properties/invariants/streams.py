"""Streams: the streams of a layer share a cache and never touch one another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from properties.cases import Streams, streams_edges
from properties.contents import bits
from properties.invariants.caches import difference
from properties.invariants.run import compare_bits, forward, number, ran
from properties.memory import Guarded
from properties.number_words import differ
from properties.tally import invariant
from properties.tensors import Batch, build
from properties.verdict import Violation


@invariant("streams", needs={"another order", "cached tap", "stored row", "two requests"}, edges=streams_edges)
def any_order(ops: Any, case: Streams) -> None:
    """The four streams in any order, in one cache, give what each gives alone in its own, bit for bit."""
    __tracebackhide__ = True
    alone = [build(part, device=ops.home) for part in case.forwards]
    together = [build(part, device=ops.home) for part in case.forwards]
    shared = together[0].cache
    for batch in together[1:]:
        _stream(batch, shared).copy_(_stream(batch, batch.cache))
    between, memory = shared.clone(), together[0].guarded["cache"].memory
    runs = [ran(ops, batch, "streams.any_order", "the run of the stream alone") for batch in alone]
    for index in case.order:
        batch = together[index]
        batch.arguments["cache"] = shared
        batch.guarded["cache"] = Guarded("cache", shared, memory, memory.clone())
        out = forward(ops, batch, "streams.any_order")
        with telling(case, index):
            compare_bits(ops, "streams.any_order", batch, out, runs[index].out, other=runs[index])
        _stream(batch, between).copy_(_stream(batch, alone[index].cache))
        _compare_caches(ops, case, index, batch, between)


def _stream(batch: Batch, cache: torch.Tensor) -> torch.Tensor:
    geometry = batch.case.geometry
    return cache[..., geometry.off_s : geometry.off_s + geometry.ws]


@contextmanager
def telling(case: Streams, index: int) -> Iterator[None]:
    """Tells a violation of one stream's forward as one of the case, in which others ran before."""
    __tracebackhide__ = True
    try:
        yield
    except Violation as violation:
        before = case.order[: case.order.index(index)]
        after = f"after stream {' and '.join(map(str, before))}" if before else "first"
        violation.case, violation.where = case, {"stream": index, **violation.where}
        violation.let = f"stream {index} runs {after}, in the cache of all four; {violation.let}"
        raise


def _compare_caches(ops: Any, case: Streams, index: int, batch: Batch, wanted: torch.Tensor) -> None:
    """Raises if a stream has left in the shared cache anything but what it leaves there alone."""
    __tracebackhide__ = True
    wrong = bits(batch.cache) != bits(wanted)
    if wrong.any():
        where = tuple(int(i) for i in wrong.nonzero()[0])
        but = differ(int(wrong.sum()), wrong.numel(), "element", " of the cache")
        words = f"{number(wanted[where])}, as when each stream runs alone"
        with telling(case, index):
            place = batch.guarded["cache"].where(where)
            raise difference(ops, "streams.any_order", batch, place, words, but)
