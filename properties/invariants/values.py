"""Values: every row is what the dense reference says."""

from __future__ import annotations

from typing import Any

import torch

from properties.bounds import allowed_error, half_ulp, may_overflow
from properties.cases import Forward, edges
from properties.invariants.run import compare_bits, difference, exact, forward, near, refuses_view
from properties.tally import invariant
from properties.tensors import Batch, build
from properties.verdict import Violation

NEEDS = {"cached tap", "tap of this forward", "tap before position 0", "window over two blocks", "two requests"}
NEEDS |= {"pad tail", "N differs from W"}
FEWEST_ELEMENTS = 64  # below, a confidence interval says nothing


@invariant("values", needs=NEEDS, edges=edges)
def dense_bound(ops: Any, case: Forward) -> None:
    """Every row equals the dense reference within a derived bound per element, subnormals and overflow included."""
    __tracebackhide__ = True
    _within_bound(ops, build(case, device=ops.home), "values.dense_bound")


@invariant("values", needs={"cached tap", "tap of this forward"}, edges=edges)
def weight_dtypes(ops: Any, case: Forward) -> None:
    """A weight in another dtype than `x`, where the candidate accepts one, gives results within the same bound."""
    __tracebackhide__ = True
    batch = build(case, device=ops.home)
    if refuses_view(ops, batch):
        return
    _within_bound(ops, build(case, device=ops.home), "values.weight_dtypes")


def _within_bound(ops: Any, batch: Batch, property_name: str) -> None:
    __tracebackhide__ = True
    out = forward(ops, batch, property_name)
    wrong, truth, allowed = beyond_bound(batch, out)
    if wrong.any():
        row, channel = (int(i) for i in wrong.nonzero()[0])
        should = near(truth[row, channel], allowed[row, channel], out.dtype)
        raise difference(ops, property_name, batch, out, truth, wrong, should)


def beyond_bound(batch: Batch, out: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Which elements of an output `[T, C]` are outside of the derived bound; the float64 truth; the bound."""
    case = batch.case
    truth, magnitude = exact(batch)
    x = batch.x.cpu().double()
    allowed = allowed_error(
        truth, magnitude, x, case.geometry.W, out.dtype, case.activation, case.use_residual
    ).masked_fill((batch.slots < 0)[:, None], 0.0)
    wrong = ~((out.double() - truth).abs() <= allowed)  # NaN is wrong
    wrong &= ~(out.isinf() & ((out > 0) == (truth > 0)) & may_overflow(truth, allowed, out.dtype))
    return wrong, truth, allowed


@invariant("values", needs=NEEDS, edges=edges)
def dense_exact(ops: Any, case: Forward) -> None:
    """Where sums are exact in fp32, every row equals the dense reference rounded once, bit for bit."""
    __tracebackhide__ = True
    if case.contents != "exact" or case.activation is not None:
        raise ValueError(f"dense_exact takes contents='exact' and no activation, not {case!r}")
    batch = build(case, device=ops.home)
    out = forward(ops, batch, "values.dense_exact")
    truth, _ = exact(batch)
    compare_bits(ops, "values.dense_exact", batch, out, truth.to(out.dtype), signed_zero=False)


@invariant("values", needs=NEEDS - {"pad tail"}, edges=edges)
def one_hot_taps(ops: Any, case: Forward) -> None:
    """With one-hot weights each output is the input at exactly its tap's position, bit for bit."""
    __tracebackhide__ = True
    if case.contents != "codes" or case.activation is not None or case.use_residual:
        raise ValueError(f"one_hot_taps takes contents='codes', no activation, no residual, not {case!r}")
    batch = build(case, device=ops.home)
    out = forward(ops, batch, "values.one_hot_taps")
    truth, _ = exact(batch)
    compare_bits(ops, "values.one_hot_taps", batch, out, truth.to(torch.float32).to(out.dtype), signed_zero=False)


def _poisoned_input(case: Forward) -> tuple[int, int, int] | None:
    """A request, one of its inputs, and how many of those are cached; by the case's seed."""
    counts = [(min(r.start, case.geometry.W - 1) if r.length else 0, r.length) for r in case.requests]
    every = [(index, at, cached) for index, (cached, new) in enumerate(counts) for at in range(cached + new)]
    return every[case.seed % len(every)] if every else None


def poisoned_edges(case: Forward) -> frozenset[str]:
    """The edges of a forward, and where the poison is put."""
    if (found := _poisoned_input(case)) is None:
        return edges(case)
    return edges(case) | {"poison in the cache" if found[1] < found[2] else "poison in x"}


def _poison(batch: Batch, index: int, at: int, cached: int, value: float) -> str:
    """Puts a value into one input, in x or in the cache, for every request that shares it: which one, in words."""
    case, geometry = batch.case, batch.case.geometry
    channel, N = case.seed % geometry.C, geometry.N
    if at >= cached:
        row = case.first_rows[index] + at - cached
        batch.x[row, channel] = value
        batch.inputs[index][at, channel] = value
        return f"x[{row}] (channel {channel}) is {value:g}"
    block, inside = divmod(case.requests[index].start - cached + at, N)
    physical = batch.placement.blocks[index][block]
    head, d = channel // geometry.ws, geometry.off_s + channel % geometry.ws
    batch.cache[physical, head, inside, d] = value
    for other, (request, inputs) in enumerate(zip(case.requests, batch.inputs, strict=True)):
        context = len(inputs) - request.length
        for offset in range(context):
            block, within = divmod(request.start - context + offset, N)
            if within == inside and batch.placement.blocks[other][block] == physical:
                inputs[offset, channel] = value
    return f"block {physical} offset {inside}, head {head}, d {d} (channel {channel}) is {value:g}"


NONFINITE = NEEDS | {"negative slot inside a request", "poison in the cache", "poison in x"}


@invariant("values", needs=NONFINITE, edges=poisoned_edges)
def nan_containment(ops: Any, case: Forward) -> None:
    """A NaN or infinity in one input, of `x` or the cache, reaches the outputs it is a tap of, and no other bit."""
    __tracebackhide__ = True
    batch = build(case, device=ops.home)
    wanted = forward(ops, batch, "values.nan_containment")
    poisoned = build(case, device=ops.home)
    if (found := _poisoned_input(case)) is None:
        return
    value = (float("nan"), float("inf"), float("-inf"))[case.seed // 3 % 3]
    where = _poison(poisoned, *found, value).replace("nan", "NaN")
    for guarded in poisoned.guarded.values():
        guarded.settle()
    got = forward(ops, poisoned, "values.nan_containment")
    truth, magnitude = exact(poisoned)
    reached = ~(truth.isfinite() & magnitude.isfinite())
    wanted[reached] = truth[reached].to(wanted.dtype)
    if case.activation is not None and value == value:
        wanted[reached] = got[reached]  # the SiLU of an infinity is what its formula gives: 0, NaN or an infinity
    both = got.isnan() & wanted.isnan()  # a NaN's payload may change on its way
    try:
        compare_bits(ops, "values.nan_containment", poisoned, got.masked_fill(both, 0.0), wanted.masked_fill(both, 0.0))
    except Violation as violation:
        violation.let += f"; {where}"
        raise


@invariant("values", needs={"cached tap", "tap of this forward", "many elements"}, edges=edges)
def unbiased(ops: Any, case: Forward) -> None:
    """The mean rounding error away from zero, over many elements, is zero within its confidence interval."""
    __tracebackhide__ = True
    batch = build(case, device=ops.home)
    out = forward(ops, batch, "values.unbiased")
    truth, _ = exact(batch)
    ulp = 2 * half_ulp(truth.abs(), out.dtype)
    away = ((out.double() - truth) / ulp * truth.sign())[batch.slots >= 0].flatten()  # positive: away from zero
    if len(away) < FEWEST_ELEMENTS:
        return
    # Rounding to nearest errs evenly within half an ulp (variance 1/12), cancellation by more. Six standard
    # deviations of the mean are left by chance once in 5e8 cases.
    spread = max(float(away.std()), (1 / 12) ** 0.5)
    limit = 6 * spread / len(away) ** 0.5
    mean = float(away.mean())
    if abs(mean) > limit:
        raise Violation(
            "values.unbiased",
            "out",
            got=f"errs by {mean:+.3f} ulp (+: away from 0) on average over {len(away):,}, but may by {limit:.3f}",
            then="rounding to nearest has no direction; truncation errs by -0.5 ulp on average",
            case=case,
        )
