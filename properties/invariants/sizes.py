"""Sizes: extreme ones give what small ones give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from properties import explain
from properties.cases import Forward, edges
from properties.contents import bits
from properties.invariants.run import compare_bits, forward, number
from properties.tally import invariant
from properties.tensors import build
from properties.verdict import Violation


@invariant("sizes", needs={"far page", "cached tap", "stored row", "decode"}, edges=edges)
def far_blocks(ops: Any, case: Forward) -> None:
    """Blocks beyond 2^31 elements give the outputs and the cache that neighbouring blocks give, bit for bit."""
    __tracebackhide__ = True
    near_case = replace(case, layout=replace(case.layout, page_pad=0))
    near = build(near_case, device=ops.device)
    wanted = forward(ops, near, "sizes.far_blocks")
    far = build(case, device=ops.device)
    compare_bits("sizes.far_blocks", far, forward(ops, far, "sizes.far_blocks"), wanted)
    held, cache = bits(far.cache), bits(near.cache)
    if not torch.equal(held, cache):
        block, head, offset, d = (int(i) for i in (held != cache).nonzero()[0])
        stride = far.cache.stride(0)
        raise Violation(
            "sizes.far_blocks",
            "cache",
            where={"block": block, "head": head, "offset": offset, "d": d},
            got=number(far.cache[block, head, offset, d]),
            wanted=f"{number(near.cache[block, head, offset, d])}, as with pages {near.cache.stride(0)} elements apart",
            let=f"pages are {stride} elements apart, so block {block} begins at element {block * stride}",
            but=f"{explain.plural(int((held != cache).sum()), 'cache element')} differ",
            case=case,
        )
