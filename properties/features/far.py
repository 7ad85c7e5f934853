"""What a forward with blocks beyond 2^31 elements has."""

from __future__ import annotations

from properties.cases import Forward, edges
from properties.features import Facts
from properties.features.forward import forks, request_features
from properties.features.geometry import geometry_features
from properties.paging import place


def far_features(case: Forward) -> Facts:
    """What a forward with blocks beyond 2^31 elements has."""
    placement = place(case)
    page = case.geometry.H * case.geometry.N * case.geometry.D + case.layout.page_pad
    W, N = case.geometry.W, case.geometry.N
    writes = reads = False
    for index, (request, first) in enumerate(zip(case.requests, case.first_rows, strict=True)):
        rows = [row for row in range(request.length) if first + row not in case.holes]
        writes |= any(placement.slot(index, request.start + row) // N * page >= 2**31 for row in rows)
        window = range(max(0, request.start - (W - 1)), request.start) if rows and rows[0] < W - 1 else range(0)
        reads |= any(placement.slot(index, position) // N * page >= 2**31 for position in window)
    return {
        "store beyond 2^31 elements": writes,
        "tap beyond 2^31 elements": reads,
        "page stride a multiple of 16": page % 16 == 0,
        "another page stride": page % 16 > 0,
        **request_features(case),
        "fork that reads a shared block": bool(forks(case)),
        **{name: fact for name, fact in geometry_features(case.geometry).items() if name[0] in "WN"},
        **{name: name in edges(case) for name in ("cached tap", "stored row", "decode", "window over two blocks")},
    }
