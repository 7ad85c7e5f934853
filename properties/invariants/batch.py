"""Batch: a request's result depends on nothing but the request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from properties.calls import Call
from properties.cases import Forward, edges
from properties.causes import Run
from properties.contents import bits
from properties.invariants.caches import difference
from properties.invariants.run import compare_bits, forward, number, ran
from properties.number_words import plural
from properties.rearrange import regrouped, shards, with_private_blocks
from properties.tally import invariant
from properties.tensors import Batch, build

TWO = {"two requests", "cached tap", "tap of this forward"}


def _ran(ops: Any, arguments: dict[str, Any], words: str) -> Run:
    out: torch.Tensor = ops.fused_sconv(**arguments)
    return Run(words, Call(arguments), out.detach().cpu())


@invariant("batch", needs=TWO | {"empty request"}, edges=edges)
def neighbours(ops: Any, case: Forward) -> None:
    """A request gives the same alone, beside its neighbours in reverse order, and beside NaN, bit for bit."""
    __tracebackhide__ = True
    batch = build(case, device=ops.home)
    count = len(case.requests)
    groups = [list(range(count))[::-1], *([index] for index in range(min(count, 3)))]
    arranged = [(order, *regrouped(batch, order)) for order in groups]
    out = forward(ops, batch, "batch.neighbours")
    for order, arguments, rows in arranged:
        wanted = out.clone()
        other = _ran(ops, arguments, f"the run of {_named(order)}")
        wanted[rows] = other.out
        compare_bits(ops, "batch.neighbours", batch, out, wanted, other=other, rows=rows.tolist())
    _beside_nan(ops, case, out)


def _named(order: list[int]) -> str:
    """Requests of a forward in words: one alone, or several in an order."""
    return f"request {order[0]} alone" if len(order) == 1 else f"requests {', '.join(map(str, order))} in this order"


def _beside_nan(ops: Any, case: Forward, wanted: torch.Tensor) -> None:
    """One request gives the same when every other row of `x` is NaN."""
    __tracebackhide__ = True
    if not case.requests:
        return
    index = case.seed % len(case.requests)
    strange = torch.ones(case.T, dtype=torch.bool)
    strange[case.first_rows[index] :][: case.requests[index].length] = False
    batch = build(case, device=ops.home)
    batch.x[strange.to(batch.device)] = float("nan")
    batch.guarded["x"].settle()
    got = forward(ops, batch, "batch.neighbours")
    compare_bits(
        ops, "batch.neighbours", batch, got.masked_fill(strange[:, None], 0), wanted.masked_fill(strange[:, None], 0)
    )


def _same(ops: Any, property_name: str, case: Forward, other: Forward, words: str) -> None:
    """Both cases give the same output, bit for bit; the violation is told of the first, `words` name the other."""
    __tracebackhide__ = True
    wanted = ran(ops, build(other, device=ops.home), property_name, words)
    batch = build(case, device=ops.home)
    compare_bits(ops, property_name, batch, forward(ops, batch, property_name), wanted.out, other=wanted)


@invariant("batch", needs=TWO | {"permuted blocks"}, edges=edges)
def block_names(ops: Any, case: Forward) -> None:
    """Renaming the physical blocks changes no output, bit for bit."""
    __tracebackhide__ = True
    _same(ops, "batch.block_names", case, replace(case, block_seed=0), "the run with ascending blocks")


@invariant("batch", needs=TWO | {"window over two blocks"}, edges=edges)
def block_size(ops: Any, case: Forward) -> None:
    """Another number of tokens a block changes no output, bit for bit, as when page sizes are unified."""
    __tracebackhide__ = True
    alone = replace(case, requests=tuple(replace(request, fork=None) for request in case.requests))
    for N in (2 * case.geometry.N, 48):  # 48: a multiple of 16, for which Triton compiles anew, but no power of two
        other = replace(alone, geometry=replace(case.geometry, N=N))
        _same(ops, "batch.block_size", alone, other, f"the run with N = {N}")


@invariant("batch", needs=TWO | {"wider table", "strided table", "padded page", "unused table rows"}, edges=edges)
def table_and_pages(ops: Any, case: Forward) -> None:
    """A wider table, table rows apart, unused rows and padded pages change no output, bit for bit."""
    __tracebackhide__ = True
    plain = replace(case.layout, table_columns=0, table_rows=0, table_gap=0, page_pad=0)
    _same(ops, "batch.table_and_pages", case, replace(case, layout=plain), "the run with a plain table and pages")


@invariant("batch", needs={"shared prefix read"}, edges=edges)
def shared_prefix(ops: Any, case: Forward) -> None:
    """Sharing a prefix's blocks gives what private copies give, bit for bit, and never writes them."""
    __tracebackhide__ = True
    batch = build(case, device=ops.home)
    wanted = _ran(ops, with_private_blocks(batch), "the run with private copies")
    out = forward(ops, batch, "batch.shared_prefix")
    compare_bits(ops, "batch.shared_prefix", batch, out, wanted.out, other=wanted)
    _unwritten(ops, batch, _shared_blocks(batch))


def _shared_blocks(batch: Batch) -> list[int]:
    owned = [physical for blocks in batch.placement.blocks for physical in blocks.values()]
    return sorted({physical for physical in owned if owned.count(physical) > 1})


def _unwritten(ops: Any, batch: Batch, blocks: list[int]) -> None:
    __tracebackhide__ = True
    cache = batch.guarded["cache"]
    before = cache.before.as_strided(cache.view.shape, cache.view.stride(), cache.view.storage_offset())
    for block in blocks:
        wrong = bits(cache.view[block]) != bits(before[block])
        if wrong.any():
            index = (block, *(int(i) for i in wrong.nonzero()[0]))
            wanted = f"{number(before[index])}: block {block} is shared and only read"
            but = f"{int(wrong.sum())} of the block's {plural(wrong.numel(), 'element')} changed"
            raise difference(ops, "batch.shared_prefix", batch, cache.where(index), wanted, but)


@invariant("batch", needs={"cached tap", "tap of this forward", "several heads", "eight heads"}, edges=edges)
def head_shards(ops: Any, case: Forward) -> None:
    """The heads split over 2, 4 or 8 ranks and put together give the whole, bit for bit."""
    __tracebackhide__ = True
    batch = build(case, device=ops.home)
    counts = [count for count in (2, 4, 8) if case.geometry.H % count == 0]
    split = [(count, shards(batch, count)) for count in counts]
    out = forward(ops, batch, "batch.head_shards")
    for count, parts in split:
        every = [_ran(ops, part, f"the run of one of {count} shards") for part in parts]
        wanted = torch.cat([one.out for one in every], dim=1)
        wrong = (bits(out) != bits(wanted)).nonzero()
        shard = int(wrong[0, 1]) // every[0].out.shape[1] if len(wrong) else 0
        compare_bits(ops, "batch.head_shards", batch, out, wanted, other=every[shard])


@invariant("batch", needs={"pad tail", "negative slot inside a request", "cached tap"}, edges=edges)
def rows_without_slots(ops: Any, case: Forward) -> None:
    """Padding rows and rows without a slot change nothing for the others, bit for bit."""
    __tracebackhide__ = True
    full = build(replace(case, pads=0, holes=()), device=ops.home)
    other = ran(ops, full, "batch.rows_without_slots", "the run in which every row has a slot")
    batch = build(case, device=ops.home)
    out = forward(ops, batch, "batch.rows_without_slots")
    dropped = batch.slots < 0
    wanted = torch.cat([other.out, out[case.rows :]])
    wanted[dropped] = out[dropped]  # their own output is judged by the values
    compare_bits(ops, "batch.rows_without_slots", batch, out, wanted, other=other)
