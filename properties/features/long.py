"""What a forward with prompts of hundreds of rows has."""

from __future__ import annotations

from properties.cases import Forward
from properties.features import Facts
from properties.features.forward import forks, tile_features
from properties.features.geometry import geometry_features

LONG = 511  # rows from which a request counts as long


def long_features(case: Forward) -> Facts:
    """What a forward with prompts of hundreds of rows has."""
    spans = [
        (request, range(first, first + request.length))
        for first, request in zip(case.first_rows, case.requests, strict=True)
        if request.length >= LONG
    ]
    others = [request for request in case.requests if request.length < LONG]
    places = [place for place, request in enumerate(case.requests) if request.length >= LONG]
    return {
        "more than 2^22 elements": case.T * case.geometry.C > 2**22,
        "two prompts": len(spans) == 2,
        "prompt after a context": any(request.start > 0 for request, _ in spans),
        "prompt of more than 2,000 rows": any(request.length > 2000 for request, _ in spans),
        "row without a slot in a prompt": any(not set(case.holes).isdisjoint(rows) for _, rows in spans),
        "decode beside a prompt": any(request.length == 1 and request.start for request in others),
        "requests before and after": bool(places) and 0 < places[0] and places[-1] + 1 < len(case.requests),
        "padding": case.pads > 0,
        "fork": bool(forks(case)),
        **tile_features(case),
        **{name: fact for name, fact in geometry_features(case.geometry).items() if name[0] in "WN"},
    }
