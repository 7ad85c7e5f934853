"""Times on a GPU: CUDA graphs replayed between events, several times over."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

REPEATS = 11
L2_BYTES = 60e6  # of an H200; what rotates is twice as large
Call = Callable[[], Any]


@dataclass(frozen=True)
class Time:
    """Microseconds of one call: the median of the repeats, and half the range of their middle half."""

    median: float
    spread: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ± {self.spread:.2f}"


def captured(region: Call, pool: Any = None) -> tuple[torch.cuda.CUDAGraph, Any]:
    """A graph of a region that has run before, and what it returned, which must stay alive."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        result = region()
    return graph, result


def chained(calls: Sequence[Call], at_least: int = 20) -> Time:
    """A call among others of one graph: launches overlap with the work before."""
    calls = list(calls) * -(-at_least // len(calls))
    _warm(calls)
    graph, _kept = captured(lambda: [call() for call in calls])
    return _time(graph.replay, len(calls))


def alone(calls: Sequence[Call], at_least: int = 200) -> Time:
    """A call as the only one of its graph, graphs replayed one after the other."""
    _warm(calls)
    pool = torch.cuda.graph_pool_handle()
    graphs = [captured(call, pool) for call in calls]
    rounds = -(-at_least // len(graphs))

    def replay() -> None:
        for _ in range(rounds):
            for graph, _ in graphs:
                graph.replay()

    return _time(replay, rounds * len(graphs))


def _warm(calls: Sequence[Call]) -> None:
    for call in list(calls)[:2]:
        call()
    torch.cuda.synchronize()


def _time(run: Callable[[], None], count: int) -> Time:
    run()
    torch.cuda.synchronize()
    times = []
    for _ in range(REPEATS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / count)
    low, _, high = statistics.quantiles(times, n=4)
    return Time(statistics.median(times), (high - low) / 2)
