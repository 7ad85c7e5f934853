"""Layout: strides and views change nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from properties.cases import Forward, edges
from properties.contents import bits
from properties.invariants.run import compare_bits, forward, place, refuses_view
from properties.specialisation import of_forward
from properties.tally import invariant
from properties.tensors import build
from properties.verdict import Violation

BOTH = {"cached tap", "tap of this forward", "stored row"}


@invariant("layout", needs=BOTH | {"weight view"}, edges=edges)
def weight_strides(ops: Any, case: Forward) -> None:
    """A transposed weight and every other row of a larger one give what a contiguous one gives, bit for bit."""
    __tracebackhide__ = True
    plain = replace(case, layout=replace(case.layout, weight="plain"))
    wanted = forward(ops, build(plain, device=ops.device), "layout.weight_strides")
    batch = build(case, device=ops.device)
    compare_bits("layout.weight_strides", batch, forward(ops, batch, "layout.weight_strides"), wanted)


@invariant("layout", needs=BOTH | {"several heads"}, edges=edges)
def cache_strides(ops: Any, case: Forward) -> None:
    """A cache whose heads lie inside its tokens gives the same output and contents, bit for bit."""
    __tracebackhide__ = True
    plain = build(case, device=ops.device)
    wanted = forward(ops, plain, "layout.cache_strides")
    batch = build(case, device=ops.device)
    # [blocks, N, H, D] in memory, seen as [blocks, H, N, D]
    cache = batch.cache.transpose(1, 2).contiguous().transpose(1, 2)
    batch.arguments["cache"] = cache
    compare_bits("layout.cache_strides", batch, forward(ops, batch, "layout.cache_strides"), wanted)
    _same_cache("layout.cache_strides", case, cache, plain.cache, "a contiguous cache")


def _same_cache(name: str, case: Forward, cache: torch.Tensor, wanted: torch.Tensor, other: str) -> None:
    """Raises the violation of the first element that differs from what the `other` cache holds."""
    __tracebackhide__ = True
    wrong = bits(cache) != bits(wanted)
    if wrong.any():
        raise Violation(name, "cache", where=place(wrong), got=f"differs from what {other} holds afterwards", case=case)


def _shifted(case: Forward) -> frozenset[str]:
    """The edges of a forward, and whether its tensors begin off 16 bytes."""
    return edges(case) | ({"not aligned"} & of_forward(case))


@invariant("layout", needs=BOTH | {"not aligned"}, edges=_shifted)
def alignment(ops: Any, case: Forward) -> None:
    """Tensors that begin at no multiple of 16 bytes give the output and cache that aligned ones give, bit for bit."""
    __tracebackhide__ = True
    aligned = build(replace(case, layout=replace(case.layout, shift=0)), device=ops.device)
    wanted = forward(ops, aligned, "layout.alignment")
    batch = build(case, device=ops.device)
    compare_bits("layout.alignment", batch, forward(ops, batch, "layout.alignment"), wanted)
    _same_cache("layout.alignment", case, batch.cache, aligned.cache, "an aligned cache")


@invariant("layout", needs=BOTH, edges=edges)
def row_stride_of_x(ops: Any, case: Forward) -> None:
    """Rows of `x` that lie apart, where the candidate accepts them, give the same, bit for bit."""
    __tracebackhide__ = True
    plain = build(case, device=ops.device)
    wanted = forward(ops, plain, "layout.row_stride_of_x")
    batch = build(case, device=ops.device)
    apart = torch.full((case.T, 2 * case.geometry.C + 3), float("nan"), dtype=batch.x.dtype, device=batch.device)
    apart[:, : case.geometry.C] = batch.x
    batch.arguments["x"] = apart[:, : case.geometry.C]
    if refuses_view(ops, batch):
        return
    batch = build(case, device=ops.device)
    batch.arguments["x"] = apart[:, : case.geometry.C]
    compare_bits("layout.row_stride_of_x", batch, forward(ops, batch, "layout.row_stride_of_x"), wanted)
