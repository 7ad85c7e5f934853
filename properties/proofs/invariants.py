"""Invariants of loops, by the kernel's name: with one, a search is proved for every number of requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import z3


@dataclass(frozen=True)
class Invariant:
    """What holds of the numbers that a loop carries, at a row, before each of its rounds and behind the last.

    rounds: the argument that says how many rounds there are; the operator makes it large enough that `base ** rounds`
    is at least the number of requests, which is read off its calls.
    holds: from the world, the row, `base ** rounds that are left` and the numbers carried, to what holds.
    """

    rounds: str
    base: int
    holds: Callable[[Any, z3.ArithRef, z3.ArithRef, tuple[z3.ArithRef, ...]], list[z3.BoolRef]]


def _halved(world: Any, row: z3.ArithRef, span: z3.ArithRef, carried: tuple[z3.ArithRef, ...]) -> list[z3.BoolRef]:
    """The owner of a row is in an interval of requests that is at most the span."""
    low, high = carried
    owner, is_actual = world.owner(row), z3.And(0 <= row, row < world.actual)
    return [z3.Implies(is_actual, z3.And(0 <= low, low <= owner, owner <= high, high < world.R, high - low < span))]


def _halved_from_entry(
    world: Any, row: z3.ArithRef, span: z3.ArithRef, carried: tuple[z3.ArithRef, ...]
) -> list[z3.BoolRef]:
    """The same, of a search that rows without an owner make too: it never passes the requests."""
    low, high = carried
    stays = z3.And(0 <= low, low <= high, high < world.R, world.entry(low) <= row)
    return [*_halved(world, row, span, carried), stays]


INVARIANTS = {
    "_binary_search_kernel": Invariant("search_steps", 2, _halved),  # tests/meta/candidates/tiled.py
    "_seq_metadata_kernel": Invariant("n_iters", 2, _halved_from_entry),  # the upstream file
}
