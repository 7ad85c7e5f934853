"""Hazards: what no comparison of values can see."""

from __future__ import annotations

from typing import Any

from properties.cases import Forward, Metadata, edges, metadata_edges
from properties.invariants import metadata
from properties.invariants.run import forward
from properties.tally import invariant
from properties.tensors import build, build_metadata


@invariant("hazards", needs={"cached tap", "two requests", "pad tail"}, edges=edges, needs_hazards=True)
def fused_sconv(ops: Any, case: Forward) -> None:
    """No access outside its tensor, no conflict, every output written once, no wrapped index, no undefined value."""
    __tracebackhide__ = True
    forward(ops, build(case, outside="nan", garbage=True, device=ops.home), "hazards.fused_sconv")


@invariant("hazards", operator="sconv_seq_metadata", needs=metadata.NEEDS, edges=metadata_edges, needs_hazards=True)
def sconv_seq_metadata(ops: Any, case: Metadata) -> None:
    """The same for the metadata kernel."""
    __tracebackhide__ = True
    metadata.call(ops, build_metadata(case, ops.home))
