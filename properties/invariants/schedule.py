"""Schedule: how a sequence is cut into forwards changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from properties import alone, contents
from properties.cases import Schedule, schedule_edges
from properties.contents import bits
from properties.invariants.run import number, spread
from properties.number_words import differ, plural
from properties.serving import Sequence, Server
from properties.tally import invariant
from properties.verdict import Violation


def _sequence(case: Schedule, seed: int = 0) -> Sequence:
    generator = np.random.default_rng((case.seed, seed))
    return Sequence(contents.inputs(case.contents, generator, case.length, case.geometry.C, case.geometry.dtype))


def _server(ops: Any, case: Schedule, blocks: int = 2) -> Server:
    geometry = case.geometry
    generator = np.random.default_rng((case.seed, 99))
    weight = contents.weights(case.contents, generator, geometry.C, geometry.W, geometry.dtype)
    count = blocks * (case.length // geometry.N + 2)
    server = Server(ops, geometry, weight, count, case.activation, case.use_residual)
    np.random.default_rng(case.block_seed).shuffle(server.free)
    return server


def _one_shot(ops: Any, case: Schedule) -> torch.Tensor:
    return _server(ops, case).step([(_sequence(case), case.length)])[0]


def _chunks(server: Server, sequence: Sequence, cuts: tuple[int, ...]) -> torch.Tensor:
    parts = [server.step([(sequence, count)])[0] for count in cuts]
    return torch.cat([sequence.inputs[:0], *parts])


def _compare(
    property_name: str,
    case: Schedule,
    got: torch.Tensor,
    wanted: torch.Tensor,
    how: str,
    server: Server,
    is_last: bool = True,
) -> None:
    """Raises if what a server gave differs from one forward.

    is_last: whether it is what the last forward gave that computed a position, where several did.
    """
    __tracebackhide__ = True
    wrong = bits(got) != bits(wanted)
    if not wrong.any():
        return
    position, channel = (int(i) for i in wrong.nonzero()[0])
    but = f"{differ(int(wrong.sum()), wrong.numel(), 'element')}, first at position {position}"
    raise Violation(
        property_name,
        "out",
        where={"position": position, "channel": channel},
        got=number(got[position, channel]),
        wanted=f"{number(wanted[position, channel])}, as in one forward",
        let=f"a sequence of {plural(case.length, 'row')}, N = {case.geometry.N}, W = {case.geometry.W}, is run {how}",
        then="every position has the taps that it has when all rows run in one forward",
        but=but,
        case=case,
        spread=spread(got, wanted, wrong, but),
    ).because(alone.of_position(server.ops.rerun, server, _sequence(case).inputs, got, wrong, is_last))


@invariant("schedule", needs={"chunk shorter than W", "cut inside a block", "three chunks"}, edges=schedule_edges)
def any_cut(ops: Any, case: Schedule) -> None:
    """Any cut of a prompt into forwards gives the one-shot result, bit for bit."""
    __tracebackhide__ = True
    server = _server(ops, case)
    got = _chunks(server, _sequence(case), case.cuts)
    _compare("schedule.any_cut", case, got, _one_shot(ops, case), f"in chunks of {list(case.cuts)}", server)


@invariant("schedule", needs={"rows over three blocks"}, edges=schedule_edges)
def windows(ops: Any, case: Schedule) -> None:
    """Prefill gives what one token at a time and verify windows of any length give, bit for bit."""
    __tracebackhide__ = True
    wanted = _one_shot(ops, case)
    for size in (1, case.window):
        cuts = tuple(min(size, case.length - at) for at in range(0, case.length, size))
        server = _server(ops, case)
        got = _chunks(server, _sequence(case), cuts)
        _compare("schedule.windows", case, got, wanted, f"{plural(size, 'row')} at a time", server)


@invariant("schedule", needs={"rejected drafts", "accepted drafts"}, edges=schedule_edges)
def rollback(ops: Any, case: Schedule) -> None:
    """Rejected drafts leave no trace: going on after a rollback gives what never drafting gives, bit for bit."""
    __tracebackhide__ = True
    server, sequence = _server(ops, case), _sequence(case)
    truth, drafts = sequence.inputs, _sequence(case, seed=1).inputs
    parts = [truth[:0]]
    while sequence.cached < case.length:
        at = sequence.cached
        count = min(case.window, case.length - at)
        kept = min(1 + case.accepted, count)
        sequence.inputs = torch.cat([truth[: at + kept], drafts[at + kept :]])
        parts.append(server.step([(sequence, count)])[0][:kept])
        sequence.cached, sequence.inputs = at + kept, truth
    how = f"in verify windows of {plural(case.window, 'row')}, {1 + case.accepted} of them kept"
    _compare("schedule.rollback", case, torch.cat(parts), _one_shot(ops, case), how, server)


@invariant("schedule", needs={"three chunks"}, edges=schedule_edges)
def repeated(ops: Any, case: Schedule) -> None:
    """Repeating the same forward gives the same output and the same cache, bit for bit."""
    __tracebackhide__ = True
    server, sequence = _server(ops, case), _sequence(case)
    for count in case.cuts:
        at = sequence.cached
        first = server.step([(sequence, count)])[0]
        cache = server.cache.clone()
        sequence.cached -= count
        again = server.step([(sequence, count)])[0]
        how = f"with each of its chunks {list(case.cuts)} repeated"
        before = sequence.inputs[:at]  # stand-ins, so that rows are positions
        _compare("schedule.repeated", case, torch.cat([before, again]), torch.cat([before, first]), how, server)
        if not torch.equal(bits(server.cache), bits(cache)):
            raise Violation("schedule.repeated", "cache", got="changed when the same forward was repeated", case=case)


@invariant("schedule", needs={"three chunks", "cut inside a block"}, edges=schedule_edges)
def preempted(ops: Any, case: Schedule) -> None:
    """Preempted and recomputed in blocks that hold a stranger's inputs, a sequence gives the same, bit for bit."""
    __tracebackhide__ = True
    server, sequence = _server(ops, case, blocks=4), _sequence(case)
    before = _chunks(server, sequence, case.cuts[:-1])
    server.release(sequence)
    stranger = _sequence(case, seed=2)
    server.step([(stranger, case.length)])  # takes the blocks just freed and leaves its own inputs in them
    server.release(stranger)
    np.random.default_rng(case.seed).shuffle(server.free)
    wanted = _one_shot(ops, case)
    done = sum(case.cuts[:-1])
    recomputed = server.step([(sequence, done)])[0] if done else before
    rest = _chunks(server, sequence, case.cuts[-1:])
    how = f"preempted after {plural(done, 'row')} and recomputed"
    _compare("schedule.preempted", case, torch.cat([before, rest]), wanted, how, server, is_last=False)
    _compare("schedule.preempted", case, torch.cat([recomputed, rest]), wanted, how, server)
