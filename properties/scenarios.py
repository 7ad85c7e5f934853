"""Scenarios: the lives in which publicly reported bugs of this family showed, numbered as in the README."""

from __future__ import annotations

from dataclasses import replace

from properties.cases import Geometry, with_dtype
from properties.lives import Admit, Fork, Free, Life, Rows, Step, WarmUp

_FOUR = Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8)
_EIGHT = replace(_FOUR, N=8)

SCENARIOS = {
    # 1: the cache's pages have grown to twice W; a kernel that counts in blocks of W reads and writes others.
    "pages_have_grown": Life(_EIGHT, (Admit(), Step((Rows(count=11),)), Step((Rows(),)), Step((Rows(count=6),)))),
    # 2: chunks of every length around W - 1, some of them after one another.
    "window_between_chunks": Life(
        _FOUR, (Admit(), *(Step((Rows(count=count),)) for count in (1, 1, 2, 1, 3, 2, 4, 1, 5, 1)))
    ),
    # 3: a chunk of one row after a shared prefix belongs into a block of its own; both then go on.
    "short_chunk_after_shared_prefix": Life(
        _EIGHT,
        (
            Admit(),
            Step((Rows(count=9),)),
            Fork(0, 8),
            Step((Rows(1),)),
            Step((Rows(0), Rows(1, 2))),
            Fork(0, 10),
            Step((Rows(0), Rows(1), Rows(2))),
        ),
    ),
    # 4: drafts are taken back, some or all of a window, and other tokens come in their place.
    "rejected_drafts": Life(
        _FOUR,
        (
            Admit(),
            Step((Rows(count=6),)),
            Step((Rows(count=5, rejected=3),)),
            Step((Rows(),)),
            Step((Rows(count=4, rejected=4),)),
            Step((Rows(count=3, rejected=1),)),
            Step((Rows(count=2),)),
        ),
    ),
    # 5: every block, the first one too, belongs to a live request while padding runs.
    "padding_beside_slot_0": Life(
        _EIGHT, (Admit(), Step((Rows(count=9),)), Step((Rows(),), pads=6), Step((Rows(),), pads=1)), blocks=2
    ),
    # 6: as many rows as before, of fewer requests: the buffers' tails are stale.
    "fewer_requests_than_before": Life(
        _FOUR,
        (
            *(Admit(),) * 3,
            Step((Rows(0, 2), Rows(1, 3), Rows(2, 3))),
            Step((Rows(2),), pads=7),
            Step((Rows(1, 2), Rows(0)), pads=5),
        ),
    ),
    # 7: dummy batches leave the first block as it was for the request that gets it.
    "warm_up_before_block_0": Life(
        _EIGHT,
        (WarmUp(8, requests=2), WarmUp(4), Admit(), Step((Rows(count=9),)), WarmUp(8, requests=8), Step((Rows(),))),
        blocks=2,
    ),
    # 8: padding stands behind requests that have ended, whose blocks are others' by now.
    "padding_after_ended_requests": Life(
        _FOUR,
        (
            *(Admit(),) * 3,
            Step((Rows(0, 5), Rows(1, 5), Rows(2, 5))),
            Free(0),
            Free(2),
            Admit(),
            Step((Rows(3, 5), Rows(1)), pads=9),
            Step((Rows(1),), pads=14),
        ),
    ),
    # 9: blocks full of NaN go to the next request, which has no history.
    "recycled_nan": Life(
        _EIGHT,
        (Admit(is_poisoned=True), Step((Rows(count=11),)), Free(0), Admit(), Step((Rows(1, 3),)), Step((Rows(1, 7),))),
        blocks=2,
    ),
}


def public_bug(case: Life) -> str:
    """The name of the public bug whose life this is, up to a step; empty where of none, or where several begin so."""
    dtype, count = case.geometry.dtype, len(case.steps)
    every = {name: scenario(name, dtype) for name in SCENARIOS}
    found = [name for name, one in every.items() if case == replace(one, steps=one.steps[:count])]
    return found[0] if len(found) == 1 else ""


def scenario(name: str, dtype: str) -> Life:
    """A scenario in a dtype."""
    case = SCENARIOS[name]
    return replace(case, geometry=with_dtype(case.geometry, dtype))
