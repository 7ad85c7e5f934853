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
    holds: from the world, the row, `base ** rounds that are left` and the numbers carried, those of a lane before
    those of the program, to what holds.
    width: the argument, if there is one, that says into parts of how many requests the first round cuts them:
    `base ** (rounds - 1)`, which is less than the number of requests.
    """

    rounds: str
    base: int
    holds: Callable[[Any, z3.ArithRef, z3.ArithRef, tuple[z3.ArithRef, ...]], list[z3.BoolRef]]
    width: str = ""


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


def _parted(world: Any, row: z3.ArithRef, span: z3.ArithRef, carried: tuple[z3.ArithRef, ...]) -> list[z3.BoolRef]:
    """The owner of a row is among so many requests from the first of its part on, each part a `base`th of the span."""
    first, width = carried
    owner, is_actual = world.owner(row), z3.And(0 <= row, row < world.actual)
    is_last = z3.And(0 <= first, first <= owner, owner < first + span)
    return [
        z3.If(is_actual, is_last, first == 0),
        z3.Implies(span >= world.invariant.base, world.invariant.base * width == span),
    ]


INVARIANTS = {
    "_sequence_metadata_kernel": Invariant("steps", 4, _parted, width="width"),  # sconv/metadata.py
    "_binary_search_kernel": Invariant("search_steps", 2, _halved),  # tests/meta/candidates/tiled.py
    "_seq_metadata_kernel": Invariant("n_iters", 2, _halved_from_entry),  # the upstream file
}
