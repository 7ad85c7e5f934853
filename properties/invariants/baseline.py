"""Baseline: the candidate equals another kernel, where one is given."""

from __future__ import annotations

from typing import Any

import torch

from properties import tally
from properties.baseline import of_baseline
from properties.cases import Forward, Metadata, edges, metadata_edges
from properties.contents import bits
from properties.invariants import metadata
from properties.invariants.cache import element
from properties.invariants.run import difference, forward, near, number
from properties.invariants.values import beyond_bound
from properties.memory import Guarded
from properties.number_words import differ
from properties.tally import invariant
from properties.tensors import build, build_metadata
from properties.verdict import NotJudged, Violation


@invariant("baseline", needs={"cached tap", "tap of this forward", "stored row", "two requests"}, edges=edges)
def fused_sconv(ops: Any, case: Forward) -> None:
    """Output and whole cache are the baseline's: the cache bit for bit, outputs so or both within the derived bound."""
    __tracebackhide__ = True
    name = "baseline.fused_sconv"
    batch, other = build(case, device=ops.home), build(case, device=ops.home)
    wanted = of_baseline(ops.baseline, name, case, lambda baseline: forward(baseline, other, name))
    out = forward(ops, batch, name)
    _same_memory(name, batch.guarded["cache"], other.guarded["cache"], case)
    differs = bits(out) != bits(wanted)
    if not differs.any():
        return
    wrong, truth, allowed = beyond_bound(batch, out)
    if (wrong & differs).any():
        row, channel = (int(i) for i in (wrong & differs).nonzero()[0])
        should = near(truth[row, channel], allowed[row, channel], out.dtype)
        should += f" (the baseline gives {number(wanted[row, channel])})"
        raise difference(ops, name, batch, out, truth, wrong & differs, should)
    if (beyond_bound(other, wanted)[0] & differs).any():
        raise NotJudged(f"the baseline {ops.baseline.name} is wrong itself, outside of the bound: {case!r}")
    tally.count_near(name)


@invariant("baseline", operator="sconv_seq_metadata", needs=metadata.NEEDS, edges=metadata_edges)
def sconv_seq_metadata(ops: Any, case: Metadata) -> None:
    """Both buffers, padding and slack included, are the baseline's bit for bit."""
    __tracebackhide__ = True
    name = "baseline.sconv_seq_metadata"
    batch, other = build_metadata(case, ops.home), build_metadata(case, ops.home)
    of_baseline(ops.baseline, name, case, lambda baseline: metadata.call(baseline, other))
    metadata.call(ops, batch)
    for buffer in ("seq_idx_out", "query_start_out"):
        _same_memory(name, batch.guarded[buffer], other.guarded[buffer], case)


def _same_memory(property_name: str, got: Guarded, wanted: Guarded, case: Forward | Metadata) -> None:
    """Raises the violation of the first element that differs, red zones included."""
    __tracebackhide__ = True
    if torch.equal(bits(got.memory), bits(wanted.memory)):
        return
    wrong = (bits(got.memory) != bits(wanted.memory)).nonzero().flatten()
    first = int(wrong[0])
    raise Violation(
        property_name,
        got.name,
        where=element(got, first),
        got=number(got.memory[first]),
        wanted=f"{number(wanted.memory[first])}, as the baseline leaves it",
        but=differ(len(wrong), got.memory.numel(), "element", f" of {got.name} and around it"),
        case=case,
    )
