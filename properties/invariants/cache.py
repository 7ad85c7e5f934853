"""Cache: what is stored, what may be written, what may be read."""

from __future__ import annotations

from typing import Any

import torch

from properties import explain
from properties.cases import Forward, edges
from properties.contents import bits
from properties.invariants.run import compare_bits, forward, number
from properties.memory import Guarded
from properties.tally import invariant
from properties.tensors import Batch, build, expected_cache
from properties.verdict import Violation


@invariant("cache", needs={"stored row", "offset stream", "padded page", "permuted blocks"}, edges=edges)
def stores_inputs(ops: Any, case: Forward) -> None:
    """Every row with a slot finds its input in the cache at that slot, bit for bit."""
    __tracebackhide__ = True
    batch = build(case, device=ops.device)
    forward(ops, batch, "cache.stores_inputs")
    geometry = case.geometry
    rows = (batch.slots >= 0).nonzero().flatten()
    slots = batch.slots[rows]
    stream = slice(geometry.off_s, geometry.off_s + geometry.ws)
    held = batch.cache.cpu()[slots // geometry.N, :, slots % geometry.N, stream].reshape(len(rows), geometry.C)
    wanted = batch.x.cpu()[rows]
    wrong = bits(held) != bits(wanted)
    if wrong.any():
        at, channel = (int(i) for i in wrong.nonzero()[0])
        row = int(rows[at])
        block, offset = divmod(int(slots[at]), geometry.N)
        raise Violation(
            "cache.stores_inputs",
            "cache",
            where={"block": block, "offset": offset, "channel": channel},
            got=number(held[at, channel]),
            wanted=number(wanted[at, channel]),
            let=explain.let(batch, row),
            then=f"row {row} stores x[{row}] at slot {int(slots[at])}",
            but=f"{int(wrong.sum())} of {explain.plural(wrong.numel(), 'stored element')} differ",
            case=case,
        )


@invariant("cache", needs={"stored row", "pad tail", "gap in D", "padded page", "cached tap"}, edges=edges)
def write_frame(ops: Any, case: Forward) -> None:
    """Nothing but the stored inputs changes: other cache elements, other arguments, memory around them."""
    __tracebackhide__ = True
    batch = build(case, device=ops.device)
    forward(ops, batch, "cache.write_frame")
    cache = batch.guarded["cache"]
    wanted = expected_cache(batch)
    stored = bits(wanted) != bits(cache.before)
    changed = bits(cache.memory) != bits(cache.before)
    if (changed & ~stored).any():
        where = int((changed & ~stored).nonzero()[0])
        raise _stray_write(batch, cache, where, number(cache.before[where]))
    for guarded in batch.guarded.values():
        if guarded is not cache and len(guarded.changed):
            where = int(guarded.changed[0])
            raise _stray_write(batch, guarded, where, number(guarded.before[where]))


def _stray_write(batch: Batch, guarded: Guarded, where: int, before: str) -> Violation:
    slots = batch.slots
    stores = explain.plural(int((slots >= 0).sum()), "row")
    count = len(guarded.changed)
    return Violation(
        "cache.write_frame",
        guarded.name,
        where=element(guarded, where),
        got=number(guarded.memory[where]),
        wanted=f"{before}, as before the call",
        let=f"{stores} may be stored, the other {int((slots < 0).sum())} of {len(slots)} have negative slots",
        then="only the cache elements of stored rows may change",
        but=f"{explain.plural(count, 'element')} of {guarded.name}'s memory changed",
        case=batch.case,
    )


def element(guarded: Guarded, where: int) -> dict[str, object]:
    """An index into a guarded allocation as a multi-dimensional index, or as a place between the elements."""
    view = guarded.view
    offset = where - view.storage_offset()
    index: list[int] = []
    rest = offset
    for size, stride in sorted(zip(view.shape, view.stride(), strict=True), key=lambda pair: -pair[1]):
        index.append(rest // stride if stride else 0)
        rest -= index[-1] * stride
        if not 0 <= index[-1] < size:
            return {"memory around it, element": offset}
    if rest or sorted(view.stride(), reverse=True) != list(view.stride()):
        return {"memory around it, element": offset}
    names = {"cache": ("block", "head", "offset", "d")}.get(guarded.name) or ("index",) * len(index)
    if guarded.name != "cache":
        return {"element": tuple(index) if len(index) > 1 else index[0]}
    return dict(zip(names, index, strict=True))


@invariant("cache", needs={"cached tap", "stored row"}, edges=edges)
def process_frame(ops: Any, case: Forward) -> None:
    """A call leaves the process as it was: torch's defaults and modes, random numbers, environment and folder."""
    __tracebackhide__ = True
    forward(ops, build(case, device=ops.device), "cache.process_frame")  # every call is watched


@invariant("cache", needs={"cached tap", "tap before position 0", "pad tail", "decode"}, edges=edges)
def read_frame(ops: Any, case: Forward) -> None:
    """NaN in every cache element outside the windows changes no output, bit for bit."""
    __tracebackhide__ = True
    wanted = forward(ops, build(case, device=ops.device), "cache.read_frame")
    batch = build(case, outside="nan", device=ops.device)
    compare_bits("cache.read_frame", batch, forward(ops, batch, "cache.read_frame"), wanted)


@invariant(
    "cache",
    needs={"cached tap", "pad tail", "wider table", "unused table rows", "strided table"},
    edges=edges,
)
def table_frame(ops: Any, case: Forward) -> None:
    """Garbage in block-table entries that no window needs changes neither output nor cache, bit for bit."""
    __tracebackhide__ = True
    plain = build(case, device=ops.device)
    wanted = forward(ops, plain, "cache.table_frame")
    batch = build(case, garbage=True, device=ops.device)
    compare_bits("cache.table_frame", batch, forward(ops, batch, "cache.table_frame"), wanted)
    if not torch.equal(bits(batch.guarded["cache"].memory), bits(plain.guarded["cache"].memory)):
        wrong = bits(batch.guarded["cache"].memory) != bits(plain.guarded["cache"].memory)
        where = int(wrong.nonzero()[0])
        raise Violation(
            "cache.table_frame",
            "cache",
            where=element(batch.guarded["cache"], where),
            got=number(batch.guarded["cache"].memory[where]),
            wanted=f"{number(plain.guarded['cache'].memory[where])}, as with plausible unused entries",
            case=case,
        )
