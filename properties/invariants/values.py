"""Values: every row is what the dense reference says."""

from __future__ import annotations

from typing import Any

import torch

from properties.bounds import allowed_error
from properties.cases import Forward, edges
from properties.invariants.run import compare_bits, difference, exact, forward
from properties.tally import invariant
from properties.tensors import build

NEEDS = {
    "cached tap",
    "tap of this forward",
    "tap before position 0",
    "two requests",
    "pad tail",
    "N differs from W",
}


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
