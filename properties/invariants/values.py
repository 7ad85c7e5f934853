"""Values: every row is what the dense reference says."""

from __future__ import annotations

from typing import Any

import torch

from properties.bounds import allowed_error, half_ulp
from properties.cases import Forward, edges
from properties.invariants.run import compare_bits, difference, exact, forward
from properties.tally import invariant
from properties.tensors import build
from properties.verdict import Violation

NEEDS = {"cached tap", "tap of this forward", "tap before position 0", "window over two blocks", "two requests"}
NEEDS |= {"pad tail", "N differs from W"}
FEWEST_ELEMENTS = 64  # below, a confidence interval says nothing


@invariant("values", needs=NEEDS, edges=edges)
def dense_bound(ops: Any, case: Forward) -> None:
    """Every row equals the dense reference within a derived bound per element."""
    __tracebackhide__ = True
    batch = build(case, device=ops.device)
    out = forward(ops, batch, "values.dense_bound")
    truth, magnitude = exact(batch)
    x = batch.x.cpu().double()
    allowed = allowed_error(
        truth, magnitude, x, case.geometry.W, out.dtype, case.activation, case.use_residual
    ).masked_fill((batch.slots < 0)[:, None], 0.0)
    wrong = ~((out.double() - truth).abs() <= allowed)  # NaN is wrong
    if wrong.any():
        row, channel = (int(i) for i in wrong.nonzero()[0])
        note = f" within {float(allowed[row, channel]):.2g}"
        raise difference("values.dense_bound", batch, out, truth, wrong, note)


@invariant("values", needs=NEEDS, edges=edges)
def dense_exact(ops: Any, case: Forward) -> None:
    """Where sums are exact in fp32, every row equals the dense reference rounded once, bit for bit."""
    __tracebackhide__ = True
    if case.contents != "exact" or case.activation is not None:
        raise ValueError(f"dense_exact takes contents='exact' and no activation, not {case!r}")
    batch = build(case, device=ops.device)
    out = forward(ops, batch, "values.dense_exact")
    truth, _ = exact(batch)
    compare_bits("values.dense_exact", batch, out, truth.to(out.dtype), signed_zero=False)


@invariant("values", needs=NEEDS - {"pad tail"}, edges=edges)
def one_hot_taps(ops: Any, case: Forward) -> None:
    """With one-hot weights each output is the input at exactly its tap's position, bit for bit."""
    __tracebackhide__ = True
    if case.contents != "codes" or case.activation is not None or case.use_residual:
        raise ValueError(f"one_hot_taps takes contents='codes', no activation, no residual, not {case!r}")
    batch = build(case, device=ops.device)
    out = forward(ops, batch, "values.one_hot_taps")
    truth, _ = exact(batch)
    compare_bits("values.one_hot_taps", batch, out, truth.to(torch.float32).to(out.dtype), signed_zero=False)


@invariant("values", needs=NEEDS | {"negative slot inside a request"}, edges=edges)
def nan_containment(ops: Any, case: Forward) -> None:
    """A NaN in one row and channel of `x` reaches the outputs whose taps it is, and no other bit."""
    __tracebackhide__ = True
    batch = build(case, device=ops.device)
    wanted = forward(ops, batch, "values.nan_containment")
    poisoned = build(case, device=ops.device)
    rows, C, W = case.rows, case.geometry.C, case.geometry.W
    if not rows:
        return
    row, channel = case.seed % rows, case.seed % C
    poisoned.x[row, channel] = float("nan")
    got = forward(ops, poisoned, "values.nan_containment")
    first = int(poisoned.query_start[row])
    length = next(r.length for r, at in zip(case.requests, case.first_rows, strict=True) if r.length and at == first)
    reached = torch.arange(row, min(row + W, first + length))
    takes = (batch.slots[reached] >= 0) | ((reached == row) & case.use_residual)
    wanted[reached[takes], channel] = float("nan")
    both = got.isnan() & wanted.isnan()  # a NaN's payload may change on its way
    compare_bits("values.nan_containment", poisoned, got.masked_fill(both, 0.0), wanted.masked_fill(both, 0.0))


@invariant("values", needs={"cached tap", "tap of this forward", "many elements"}, edges=edges)
def unbiased(ops: Any, case: Forward) -> None:
    """The mean rounding error away from zero, over many elements, is zero within its confidence interval."""
    __tracebackhide__ = True
    batch = build(case, device=ops.device)
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
