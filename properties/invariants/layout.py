"""Layout: strides and views change nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from properties.cases import Forward, edges
from properties.invariants.caches import compare
from properties.invariants.run import compare_bits, forward, ran, refuses_view
from properties.memory import Guarded
from properties.specialisation import of_forward
from properties.tally import invariant
from properties.tensors import build

BOTH = {"cached tap", "tap of this forward", "stored row"}


@invariant("layout", needs=BOTH | {"weight view"}, edges=edges)
def weight_strides(ops: Any, case: Forward) -> None:
    """A transposed weight and every other row of a larger one give what a contiguous one gives, bit for bit."""
    __tracebackhide__ = True
    plain = replace(case, layout=replace(case.layout, weight="plain"))
    wanted = ran(ops, build(plain, device=ops.home), "layout.weight_strides", "the run with a contiguous weight")
    batch = build(case, device=ops.home)
    compare_bits(
        ops, "layout.weight_strides", batch, forward(ops, batch, "layout.weight_strides"), wanted.out, other=wanted
    )


@invariant("layout", needs=BOTH | {"several heads"}, edges=edges)
def cache_strides(ops: Any, case: Forward) -> None:
    """A cache whose heads lie inside its tokens gives the same output and contents, bit for bit."""
    __tracebackhide__ = True
    plain = build(case, device=ops.home)
    wanted = ran(ops, plain, "layout.cache_strides", "the run with a contiguous cache")
    batch = build(case, device=ops.home)
    # [blocks, N, H, D] in memory, seen as [blocks, H, N, D]
    memory = batch.cache.transpose(1, 2).contiguous()
    cache = memory.transpose(1, 2)
    batch.arguments["cache"] = cache
    batch.guarded["cache"] = Guarded("cache", cache, memory.view(-1), memory.view(-1).clone())
    compare_bits(
        ops, "layout.cache_strides", batch, forward(ops, batch, "layout.cache_strides"), wanted.out, other=wanted
    )
    compare(ops, "layout.cache_strides", batch, plain, "as in a contiguous cache")


def _shifted(case: Forward) -> frozenset[str]:
    """The edges of a forward, and whether its tensors begin off 16 bytes."""
    return edges(case) | ({"not aligned"} & of_forward(case))


@invariant("layout", needs=BOTH | {"not aligned"}, edges=_shifted)
def alignment(ops: Any, case: Forward) -> None:
    """Tensors that begin at no multiple of 16 bytes give the output and cache that aligned ones give, bit for bit."""
    __tracebackhide__ = True
    aligned = build(replace(case, layout=replace(case.layout, shift=0)), device=ops.home)
    wanted = ran(ops, aligned, "layout.alignment", "the run with aligned tensors")
    batch = build(case, device=ops.home)
    compare_bits(ops, "layout.alignment", batch, forward(ops, batch, "layout.alignment"), wanted.out, other=wanted)
    compare(ops, "layout.alignment", batch, aligned, "as in an aligned cache")


@invariant("layout", needs=BOTH, edges=edges)
def row_stride_of_x(ops: Any, case: Forward) -> None:
    """Rows of `x` that lie apart, where the candidate accepts them, give the same, bit for bit."""
    __tracebackhide__ = True
    plain = build(case, device=ops.home)
    wanted = ran(ops, plain, "layout.row_stride_of_x", "the run with a contiguous x")
    batch = build(case, device=ops.home)
    apart = torch.full((case.T, 2 * case.geometry.C + 3), float("nan"), dtype=batch.x.dtype, device=batch.device)
    apart[:, : case.geometry.C] = batch.x
    batch.arguments["x"] = apart[:, : case.geometry.C]
    if refuses_view(ops, batch):
        return
    batch = build(case, device=ops.home)
    batch.arguments["x"] = apart[:, : case.geometry.C]
    compare_bits(
        ops, "layout.row_stride_of_x", batch, forward(ops, batch, "layout.row_stride_of_x"), wanted.out, other=wanted
    )
