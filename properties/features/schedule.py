"""What a sequence cut into forwards has."""

from __future__ import annotations

from itertools import pairwise

from properties.cases import Schedule, schedule_edges
from properties.features import Facts
from properties.features.geometry import geometry_features


def schedule_features(case: Schedule) -> Facts:
    """What a sequence cut into forwards has."""
    N, W, cuts = case.geometry.N, case.geometry.W, case.cuts
    later = cuts[1:]
    return {
        "one chunk": len(cuts) == 1,
        "three chunks": len(cuts) >= 3,
        "chunk of one row": 1 in later,
        "chunk shorter than W": any(cut < W - 1 for cut in later),
        "first chunk shorter than W": len(cuts) > 1 and cuts[0] < W - 1,
        "two chunks in a row shorter than W": any(a < W - 1 and b < W - 1 for a, b in pairwise(cuts)),
        "chunk of W-1 rows": W > 1 and W - 1 in later,
        "chunk of W rows": W in later,
        "chunk of N-1 rows": N > 1 and N - 1 in later,
        "chunk of N rows": N in later,
        "chunk of N+1 rows": N + 1 in later,
        "first chunk ends inside a block": len(cuts) > 1 and cuts[0] % N > 0,
        "first chunk ends at a block's edge": len(cuts) > 1 and cuts[0] % N == 0,
        "new rows over three blocks": case.length > 2 * N,
        "chunk without rows": 0 in cuts,
        **{f"verify window of {rows}": case.window == rows and case.length > 1 for rows in range(1, 10)},
        "no draft accepted": case.accepted == 0 and case.window > 1,
        "some drafts accepted": 0 < case.accepted < case.window - 1,
        "every draft accepted": 0 < case.accepted == case.window - 1,
        "rejected drafts in another block": case.accepted < case.window - 1 and case.window > N and case.length > N,
        "a verify window shorter than W": 1 < case.window < W,
        "activation": case.activation is not None,
        "no residual": not case.use_residual,
        **geometry_features(case.geometry),
        **dict.fromkeys(sorted(schedule_edges(case)), True),
    }
