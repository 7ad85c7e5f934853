"""Sizes: extreme ones give what small ones give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from properties import explain
from properties.cases import Forward, Layout, edges
from properties.contents import bits
from properties.invariants.run import compare_bits, forward, number, refuses_rows_apart
from properties.tally import invariant
from properties.tensors import build
from properties.verdict import Violation


def _as_near(ops: Any, property_name: str, case: Forward) -> None:
    """The case gives the output and the cache that it gives with everything close together, bit for bit."""
    __tracebackhide__ = True
    near_case = replace(case, layout=Layout(spare_blocks=case.layout.spare_blocks))
    near = build(near_case, device=ops.device)
    wanted = forward(ops, near, property_name)
    far = build(case, device=ops.device)
    compare_bits(property_name, far, forward(ops, far, property_name), wanted)
    held, cache = bits(far.cache), bits(near.cache)
    if not torch.equal(held, cache):
        block, head, offset, d = (int(i) for i in (held != cache).nonzero()[0])
        at = block * far.cache.stride(0) + head * far.cache.stride(1) + offset * far.cache.stride(2) + d
        raise Violation(
            property_name,
            "cache",
            where={"block": block, "head": head, "offset": offset, "d": d},
            got=number(far.cache[block, head, offset, d]),
            wanted=f"{number(near.cache[block, head, offset, d])}, as with everything close together",
            let=f"the cache has strides {tuple(far.cache.stride())}, so this is its element {at}",
            but=f"{explain.plural(int((held != cache).sum()), 'cache element')} differ",
            case=case,
        )


@invariant("sizes", needs={"far page", "cached tap", "stored row", "decode"}, edges=edges)
def far_blocks(ops: Any, case: Forward) -> None:
    """Blocks beyond 2^31 elements give the outputs and the cache that neighbouring blocks give, bit for bit."""
    __tracebackhide__ = True
    _as_near(ops, "sizes.far_blocks", case)


@invariant("sizes", needs={"far table row", "cached tap", "stored row"}, edges=edges)
def far_table(ops: Any, case: Forward) -> None:
    """Block-table rows beyond 2^31 elements give what neighbouring rows give, bit for bit."""
    __tracebackhide__ = True
    _as_near(ops, "sizes.far_table", case)


@invariant("sizes", needs={"far head", "cached tap", "stored row"}, edges=edges)
def far_heads(ops: Any, case: Forward) -> None:
    """Heads outside of the pages, beyond 2^31 elements, give what heads inside them give, bit for bit."""
    __tracebackhide__ = True
    _as_near(ops, "sizes.far_heads", case)


@invariant("sizes", needs={"far tap", "cached tap", "stored row"}, edges=edges)
def far_weights(ops: Any, case: Forward) -> None:
    """Taps of the weight beyond 2^31 elements give what a contiguous weight gives, bit for bit."""
    __tracebackhide__ = True
    _as_near(ops, "sizes.far_weights", case)


@invariant("sizes", needs={"far row", "cached tap", "tap of this forward"}, edges=edges)
def far_rows(ops: Any, case: Forward) -> None:
    """Rows of `x` beyond 2^31 elements, where the candidate accepts rows apart, give the same, bit for bit."""
    __tracebackhide__ = True
    if refuses_rows_apart(ops, build(case, device=ops.device)):
        return
    _as_near(ops, "sizes.far_rows", case)
