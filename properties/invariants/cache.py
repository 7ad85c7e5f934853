"""Cache: what is stored, what may be written, what may be read."""

from __future__ import annotations

from typing import Any

from properties import causes
from properties.calls import Call
from properties.cases import Forward, edges
from properties.contents import bits
from properties.invariants.caches import compare, difference, element
from properties.invariants.run import compare_bits, forward, number, ran
from properties.memory import Guarded
from properties.number_words import differ, plural, rows_of
from properties.tally import invariant
from properties.tensors import Batch, build, expected_cache
from properties.verdict import Violation


@invariant("cache", needs={"stored row", "offset stream", "padded page", "permuted blocks"}, edges=edges)
def stores_inputs(ops: Any, case: Forward) -> None:
    """Every row with a slot finds its input in the cache at that slot, bit for bit."""
    __tracebackhide__ = True
    batch = build(case, device=ops.home)
    forward(ops, batch, "cache.stores_inputs")
    geometry = case.geometry
    rows = (batch.slots >= 0).nonzero().flatten()
    slots = batch.slots[rows]
    stream = slice(geometry.off_s, geometry.off_s + geometry.ws)
    held = batch.cache.cpu()[slots // geometry.N, :, slots % geometry.N, stream].reshape(len(rows), geometry.C)
    wanted = Call.of(batch).before("x")[rows]
    wrong = bits(held) != bits(wanted)
    if wrong.any():
        at, channel = (int(i) for i in wrong.nonzero()[0])
        row = int(rows[at])
        where = batch.guarded["cache"].where(Call.of(batch).stored_at(row, channel))
        but = differ(int(wrong.sum()), wrong.numel(), "stored element")
        raise difference(ops, "cache.stores_inputs", batch, where, number(wanted[at, channel]), but)


@invariant("cache", needs={"stored row", "pad tail", "gap in D", "padded page", "cached tap"}, edges=edges)
def write_frame(ops: Any, case: Forward) -> None:
    """Nothing but the stored inputs changes: other cache elements, other arguments, memory around them."""
    __tracebackhide__ = True
    batch = build(case, device=ops.home)
    forward(ops, batch, "cache.write_frame")
    cache = batch.guarded["cache"]
    wanted = expected_cache(batch)
    stored = bits(wanted) != bits(cache.before)
    changed = bits(cache.memory) != bits(cache.before)
    if (changed & ~stored).any():
        where = int((changed & ~stored).nonzero()[0])
        count = int((changed & ~stored).sum())
        but = f"{plural(count, 'element')} of the cache's memory changed that should not"
        words = f"{number(cache.before[where])}, as before the call"
        raise difference(ops, "cache.write_frame", batch, where, words, but)
    for guarded in batch.guarded.values():
        if guarded is not cache and len(guarded.changed):
            raise _written(ops, batch, guarded)


def _written(ops: Any, batch: Batch, guarded: Guarded) -> Violation:
    where = int(guarded.changed[0])
    found = Violation(
        "cache.write_frame",
        guarded.name,
        where=element(guarded, where),
        got=number(guarded.memory[where]),
        wanted=f"{number(guarded.before[where])}, as before the call",
        let=rows_of(batch.case.T, len(batch.case.requests)),
        then=f"{guarded.name} is an input, which the operator must not write",
        but=f"{plural(len(guarded.changed), 'element')} of {guarded.name}'s memory changed",
        case=batch.case,
    )
    return found.because(causes.written(ops.rerun, Call.of(batch), guarded, where))


@invariant("cache", needs={"cached tap", "stored row"}, edges=edges)
def process_frame(ops: Any, case: Forward) -> None:
    """A call leaves the process as it was: torch's defaults and modes, random numbers, environment and folder."""
    __tracebackhide__ = True
    forward(ops, build(case, device=ops.home), "cache.process_frame")  # every call is watched


@invariant("cache", needs={"cached tap", "tap before position 0", "pad tail", "decode"}, edges=edges)
def read_frame(ops: Any, case: Forward) -> None:
    """NaN in every cache element outside the windows changes no output, bit for bit."""
    __tracebackhide__ = True
    wanted = ran(ops, build(case, device=ops.home), "cache.read_frame", "the run with numbers outside the windows")
    batch = build(case, outside="nan", device=ops.home)
    compare_bits(ops, "cache.read_frame", batch, forward(ops, batch, "cache.read_frame"), wanted.out, other=wanted)


@invariant(
    "cache",
    needs={"cached tap", "pad tail", "wider table", "unused table rows", "strided table"},
    edges=edges,
)
def table_frame(ops: Any, case: Forward) -> None:
    """Garbage in block-table entries that no window needs changes neither output nor cache, bit for bit."""
    __tracebackhide__ = True
    plain = build(case, device=ops.home)
    wanted = ran(ops, plain, "cache.table_frame", "the run with plausible unused entries")
    batch = build(case, garbage=True, device=ops.home)
    compare_bits(ops, "cache.table_frame", batch, forward(ops, batch, "cache.table_frame"), wanted.out, other=wanted)
    compare(ops, "cache.table_frame", batch, plain, "with plausible unused entries")
