"""What four streams in one cache have: their order, and what their forward has."""

from __future__ import annotations

from properties.cases import Streams, edges
from properties.features import Facts
from properties.features.forward import argument_features, forks, request_features, slot_features


def streams_features(case: Streams) -> Facts:
    """What four streams in one cache have: their order, and what their forward has."""
    forward = case.forwards[0]
    names = ("K", "V", "attention", "MLP")
    return {
        **{f"{name} runs first": case.order[0] == index for index, name in enumerate(names)},
        **{f"{name} runs last": case.order[-1] == index for index, name in enumerate(names)},
        "K and V of a real model's width": case.kv == 128,
        "toy widths": case.kv == 1,
        "block rows without a gap": 2 * (case.kv + case.wide) == forward.geometry.D,
        "block rows with a gap": 2 * (case.kv + case.wide) < forward.geometry.D,
        **request_features(forward),
        "fork that reads a shared block": bool(forks(forward)),
        **slot_features(forward),
        **argument_features(forward),
        **dict.fromkeys(sorted(edges(forward)), True),
    }
