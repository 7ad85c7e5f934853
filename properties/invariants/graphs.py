"""Graphs: a step that was captured once gives, replayed on refilled buffers, what it gives eagerly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch

from properties.buckets import Buffers
from properties.contents import bits
from properties.invariants.run import number, place, spread
from properties.number_words import differ, plural, rows_of
from properties.printable import class_name
from properties.replay_words import Told
from properties.replays import Replays, replays_edges
from properties.tally import invariant
from properties.verdict import Violation

BATCHES = {"fewer rows than before", "more rows than before", "empty batch", "full bucket", "verify window"}
NEEDS = BATCHES | {"captured with padding", "captured with a batch", "cached tap", "two requests"}


@dataclass
class _Step:
    """The step of one bucket: captured segments and eager stages, in order."""

    parts: list[tuple[bool, Any]] = field(default_factory=list)  # whether captured; the recording, or a stage's call
    earlier: dict[str, list[torch.Tensor]] = field(
        default_factory=dict
    )  # outputs of earlier runs, by what ran, in words
    kept: list[tuple[torch.Tensor, torch.Tensor]] = field(default_factory=list)  # outputs, what they last held

    def run(self, ops: Any) -> list[torch.Tensor]:
        """Replays the graphs, runs what lies between them, and returns every output."""
        __tracebackhide__ = True
        found: list[Any] = []
        for is_captured, part in self.parts:
            if is_captured:
                ops.replay(part)
                found += part.result
            else:
                found.append(part())
        outputs = [out for out in found if out is not None]
        self.kept = [(out, out.clone()) for out in outputs]
        return outputs


@invariant("graphs", needs=NEEDS, edges=replays_edges)
def piecewise(ops: Any, case: Replays) -> None:
    """Each operator captured in a graph of its own and replayed on refilled buffers gives the eager bits."""
    __tracebackhide__ = True
    _judge(ops, case, "graphs.piecewise")


@invariant("graphs", needs=NEEDS | {"two buckets", "two layers", "metadata in the graph"}, edges=replays_edges)
def full(ops: Any, case: Replays) -> None:
    """All streams of one or two layers in one graph, replayed on refilled buffers, give the eager bits."""
    __tracebackhide__ = True
    _judge(ops, case, "graphs.full")


@invariant("graphs", needs=NEEDS | {"broken graph", "eager stage", "metadata in the graph"}, edges=replays_edges)
def breakable(ops: Any, case: Replays) -> None:
    """A step captured in several graphs, with stages that run eagerly between them, gives the eager bits."""
    __tracebackhide__ = True
    _judge(ops, case, "graphs.breakable")


def _judge(ops: Any, case: Replays, name: str) -> None:
    __tracebackhide__ = True
    if case.inside and not ops.offers("sconv_seq_metadata"):
        case = replace(case, inside=False)
    buffers, batches = Buffers.of(case, ops.device)
    pool = ops.engine.pool()
    # the largest bucket first, as engines do it: later ones fit into its memory
    buckets = sorted({case.rows, *(case.bucket(index) for index in range(len(batches)))}, reverse=True)
    steps = {}
    for bucket in buckets:
        fits = [layers for index, layers in enumerate(batches) if case.bucket(index) == bucket]
        buffers.load((fits or batches)[0], bucket)
        if case.dummy == "pad":
            buffers.metadata["slot_mapping"].fill_(-1)
        steps[bucket] = _captured(ops, case, name, buffers, bucket, pool)
    for index, layers in enumerate(batches):
        bucket = case.bucket(index)
        buffers.load(layers, bucket)
        _compare(ops, case, name, buffers, index, steps[bucket])
        for other, step in steps.items():
            if other != bucket:
                _still_there(case, name, index, other, step)


def _captured(ops: Any, case: Replays, name: str, buffers: Buffers, bucket: int, pool: Any) -> _Step:
    """Runs a bucket's step once, as a warm-up, then captures it; neither may store rows without a slot."""
    __tracebackhide__ = True
    before = buffers.copy()
    calls = buffers.stages(case, ops, bucket)
    step = _Step(earlier={"the warm-up before the capture": _eagerly(case, name, calls)})
    if case.dummy == "pad":
        _same_caches(case, name, buffers, before, f"in a warm-up of {plural(bucket, 'row')} without a slot")
    warm = buffers.copy()
    for is_captured, stages in case.segments:
        mine = [calls[stage] for stage in stages]
        parts = [_capture(ops, case, mine, pool)] if is_captured else mine
        step.parts += [(is_captured, part) for part in parts]
    _same_caches(case, name, buffers, warm, "in the capture")
    return step


def _capture(ops: Any, case: Replays, calls: list[Callable[[], Any]], pool: Any) -> Any:
    __tracebackhide__ = True
    try:
        return ops.capture(partial(_all, calls), pool)
    except Violation as violation:
        about = f"{plural(len(calls), 'stage')} of a step captured, the buffers hold {_at_capture(case)}"
        violation.let = violation.let or about
        violation.then = violation.then or "a graph takes launches alone: nothing of a step may ask the host"
        raise


def _all(calls: list[Callable[[], Any]]) -> list[Any]:
    return [call() for call in calls]


def _eagerly(case: Replays, name: str, calls: list[Callable[[], Any]]) -> list[torch.Tensor]:
    """Runs a step eagerly and returns copies of its outputs, each made before the next stage runs."""
    __tracebackhide__ = True
    outputs = []
    for stage, call in enumerate(calls):
        out = call()
        if stage == 0 and case.inside:
            continue
        if not isinstance(out, torch.Tensor):
            words = f"returned {class_name(type(out))}, but should return a tensor"
            raise Violation(name, "fused_sconv", got=words, case=case)
        outputs.append(out.clone())
    return outputs


def _compare(ops: Any, case: Replays, name: str, buffers: Buffers, index: int, step: _Step) -> None:
    """Replays a step and compares outputs, metadata and caches with an eager run on a copy of the buffers."""
    __tracebackhide__ = True
    bucket = case.bucket(index)
    twin, before = buffers.copy(), buffers.copy()
    with ops.engine.traced() as launches:
        wanted = _eagerly(case, name, twin.stages(case, ops, bucket))
    _stored(case, name, index, twin, before)
    got = step.run(ops)
    recordings = [part for is_captured, part in step.parts if is_captured]
    is_whole = len(recordings) == len(step.parts)
    told = Told(case, twin, before, bucket, step.earlier, got)
    same = partial(
        _same, case, name, _about(case, index), told, lambda: ops.frozen(recordings, launches) if is_whole else ""
    )
    for stream, (one, other) in enumerate(zip(got, wanted, strict=True)):
        same(f"out of stream {stream}" if case.layers else "out", one, other)
    for kind, buffer in buffers.metadata.items():
        same(kind, buffer[:bucket], twin.metadata[kind][:bucket])
    for stream, (one, other) in enumerate(zip(buffers.x, twin.x, strict=True)):
        same(f"x of stream {stream}" if case.layers else "x", one, other)
    same("block_table", buffers.block_table, twin.block_table)
    same("query_start_loc", buffers.query_start_loc, twin.query_start_loc)
    for layer, (one, other) in enumerate(zip(buffers.caches, twin.caches, strict=True)):
        same(_cache_of(case, layer), one, other)
    step.earlier[f"the replay with forward {index}"] = [out.clone() for out in got]


def _stored(case: Replays, name: str, index: int, eager: Buffers, before: Buffers) -> None:
    """Raises if the eager run has not stored its rows: then nothing follows from a replay that does the same."""
    __tracebackhide__ = True
    slots = eager.metadata["slot_mapping"][: case.bucket(index)]
    rows = (slots >= 0).nonzero().flatten()
    parts = [(layer, part.geometry) for layer, parts in enumerate(case.streams(index)) for part in parts]
    for (layer, geometry), x in zip(parts, eager.x, strict=True):
        block, offset = slots[rows] // geometry.N, slots[rows] % geometry.N
        stored = eager.caches[layer][block, :, offset, geometry.off_s : geometry.off_s + geometry.ws]
        wrong = bits(stored.reshape(len(rows), geometry.C)) != bits(x[rows])
        if wrong.any():
            at, channel = (int(i) for i in wrong.nonzero()[0])
            row, what = int(rows[at]), _cache_of(case, layer)
            words = f"does not hold x[{row}] at slot {int(slots[row])} after an eager run"
            where = (int(block[at]), channel // geometry.ws, int(offset[at]), geometry.off_s + channel % geometry.ws)
            told = Told(case, eager, before, case.bucket(index))
            found = Violation(name, what, got=words, let=_about(case, index), then=told.owed(what, where), case=case)
            found.found(told.found(what, where, eager.caches[layer]))
            raise found


def _cache_of(case: Replays, layer: int) -> str:
    return f"cache of layer {layer}" if case.layers else "cache"


def _at_capture(case: Replays) -> str:
    return "padding alone" if case.dummy == "pad" else f"forward 0 ({plural(case.forwards[0].rows, 'row')})"


def _about(case: Replays, index: int) -> str:
    forward, bucket = case.forwards[index], case.bucket(index)
    return (
        f"a graph for {plural(bucket, 'row')}, captured with {_at_capture(case)}, is replayed with forward {index}: "
        f"{rows_of(forward.rows, len(forward.requests))}"
    )


def _same(
    case: Replays,
    name: str,
    about: str,
    told: Told,
    because: Callable[[], str],
    what: str,
    got: torch.Tensor,
    wanted: torch.Tensor,
) -> None:
    """Raises the violation of the first element that differs from the eager run."""
    __tracebackhide__ = True
    if tuple(got.shape) != tuple(wanted.shape):
        words = f"has shape {tuple(got.shape)} after the replay, but {tuple(wanted.shape)} eagerly"
        raise Violation(name, what, got=words, let=about, case=case)
    wrong = bits(got) != bits(wanted)
    if not wrong.any():
        return
    where = place(wrong)
    if what == "block_table":
        where = dict(zip(("request", "column"), where.values(), strict=True))
    first = tuple(where.values())
    count, is_output = int(wrong.sum()), what.startswith("out")
    words = differ(count, wrong.numel(), "element")
    causes = (because(), told.found(what, first, got))
    raise Violation(
        name,
        what,
        where=where,
        got=f"{number(got[first])} after the replay",
        wanted=f"{number(wanted[first])} as in an eager run on the same buffers",
        let=about,
        then=told.owed(what, first),
        but="; ".join(filter(None, (*causes, words))),
        case=case,
        taps=told.call(what).meant(*first) if is_output else (),
        spread=spread(got, wanted, wrong, words) if is_output else None,
    )


def _same_caches(case: Replays, name: str, buffers: Buffers, before: Buffers, when: str) -> None:
    __tracebackhide__ = True
    for layer, (one, other) in enumerate(zip(buffers.caches, before.caches, strict=True)):
        wrong = bits(one) != bits(other)
        if wrong.any():
            what, where = _cache_of(case, layer), place(wrong)
            told = Told(case, buffers, before, len(buffers.metadata["slot_mapping"]))
            cause = told.found(what, tuple(where.values()), one)
            raise Violation(
                name,
                what,
                where=where,
                got=f"has changed {when}",
                let=f"the buffers hold {_at_capture(case)}",
                then="only rows with a slot are stored, and a capture stores nothing that the run before it has not",
                but="; ".join(filter(None, (cause, f"{plural(int(wrong.sum()), 'element')} changed"))),
                case=case,
            )


def _still_there(case: Replays, name: str, index: int, bucket: int, step: _Step) -> None:
    """Raises if the replay of one bucket has changed outputs of another that the caller still holds."""
    __tracebackhide__ = True
    for stream, (out, kept) in enumerate(step.kept):
        if not torch.equal(bits(out), bits(kept)):
            words = f"of the graph for {plural(bucket, 'row')} changed when another bucket's graph was replayed"
            raise Violation(name, f"out of stream {stream}", got=words, let=_about(case, index), case=case)
