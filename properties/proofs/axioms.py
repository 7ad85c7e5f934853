"""What the caller owes, as named axioms instantiated at the rows concerned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from itertools import permutations
from typing import Any

import z3

from properties.proofs.world import PAGE, ROW, TABLE_ROW, World

# name: the sentence that is printed beside a verdict
AXIOMS = {
    "sizes": "T, R, table width and blocks are at least 1; rows of x, table and pages do not overlap; limits hold",
    "in range": "seq_idx, query_start and positions of every row, padding too, are in range for their buffers",
    "contiguous rows": "rows of a request with a slot are contiguous, their positions consecutive from one >= 0",
    "slots agree": "a slot >= 0 is block * N + offset of the row's position by the block table, inside the cache",
    "distinct slots": "slots >= 0 are distinct",
    "windows": "the blocks of the W-1 positions before a request's first row are in its table, inside the cache",
    "no slot is a tap": "no slot written in this forward is a tap read from the cache by any row",
    "finite weights": "weights are finite: a tap of zero adds nothing, up to the sign of zero",
}
Named = list[tuple[str, z3.BoolRef]]


def all_of(world: Any, rows: Iterable[z3.ArithRef]) -> Named:
    """Every axiom about sizes, each of these rows, and each two of them."""
    rows = list(rows)
    key = tuple(row.get_id() for row in rows)
    if key not in world.axioms:  # many claims are about the same rows
        world.axioms[key] = (rows, instantiated(world, rows))  # z3 gives the id of a dead expression to another one
    found: Named = world.axioms[key][1]
    return found


@singledispatch
def instantiated(world: Any, rows: Sequence[z3.ArithRef]) -> Named:
    """The axioms of a call at these rows, or at these entries of its metadata."""
    raise TypeError(world)


@instantiated.register
def _(world: World, rows: Sequence[z3.ArithRef]) -> Named:
    found = [("sizes", sizes(world))]
    for row in rows:
        found += about_row(world, row)
    for row, other in permutations(rows, 2):
        found += about_rows(world, row, other)
    return found


def sizes(world: World) -> z3.BoolRef:
    """The sizes and strides of the call, within the limits."""
    geometry, limits = world.geometry, world.limits
    page, row, table_row = (z3.Int(name) for name in (PAGE, ROW, TABLE_ROW))
    top = 2**31  # sizes and strides reach the kernel as 32-bit numbers
    return z3.And(
        world.T >= 1,
        world.T <= limits.rows,
        world.R >= 1,
        world.R < top,
        world.width >= 1,
        world.width < top,
        world.num_blocks >= 1,
        world.num_blocks < top,
        page >= geometry.H * geometry.N * geometry.D,
        page < top,
        row >= geometry.C,
        row < top,
        table_row >= world.width,
        table_row < top,
    )


def about_row(world: World, row: z3.ArithRef) -> Named:
    """The axioms about one row: its metadata, its request's first row, its slot and its window."""
    N, W = world.geometry.N, world.geometry.W
    slot, position, first = world.slot(row), world.position(row), world.first(row)
    request = world.request(row)
    exists, live = z3.And(0 <= row, row < world.T), world.is_live(row)
    found: Named = [
        (
            "in range",
            z3.And(
                0 <= request, request < world.R, 0 <= first, first < world.T,
                0 <= position, position < world.limits.positions, -(2**63) <= slot, slot < 2**63,
            ),
        ),
        ("contiguous rows", z3.Implies(live, z3.And(first <= row, position >= row - first))),
        (
            "slots agree",
            z3.Implies(
                live,
                z3.And(
                    position / N < world.width,
                    slot / N == world.block(request, position / N),
                    slot % N == position % N,
                    slot / N < world.num_blocks,
                ),
            ),
        ),
    ]  # fmt: skip  # bounds side by side
    for age in range(1, W):
        tap = position - age
        block = world.block(request, tap / N)
        owed = z3.And(live, tap >= 0, row - age < first)
        found.append(("windows", z3.Implies(owed, z3.And(tap / N < world.width, 0 <= block, block < world.num_blocks))))
    return [(name, z3.Implies(exists, fact)) for name, fact in found]


def about_rows(world: World, row: z3.ArithRef, other: z3.ArithRef) -> Named:
    """The axioms about two rows, from the first one's side."""
    N, W = world.geometry.N, world.geometry.W
    exist = z3.And(0 <= row, row < world.T, 0 <= other, other < world.T)
    live, other_live = world.is_live(row), world.is_live(other)
    first, request = world.first(row), world.request(row)
    alike = z3.And(
        world.first(other) == first,
        world.request(other) == request,
        world.position(other) == world.position(row) - (row - other),
    )
    found: Named = [
        ("contiguous rows", z3.Implies(z3.And(live, first <= other, other <= row), alike)),
        ("distinct slots", z3.Implies(z3.And(live, other_live, row != other), world.slot(row) != world.slot(other))),
    ]
    for age in range(1, W):
        tap = world.position(other) - age
        is_cached = z3.And(other_live, tap >= 0, other - age < world.first(other))
        read = world.block(world.request(other), tap / N) * N + tap % N
        found.append(("no slot is a tap", z3.Implies(z3.And(live, is_cached), world.slot(row) != read)))
    return [(name, z3.Implies(exist, fact)) for name, fact in found]


@singledispatch
def a_batch(world: Any) -> list[z3.BoolRef]:
    """A batch of the kind that matters, with every axiom: a proof that leaves no room for it is vacuous."""
    raise TypeError(world)


@a_batch.register
def _(world: World) -> list[z3.BoolRef]:
    """Two requests with histories, and padding."""
    rows = z3.Ints("a_row another_row padding")
    row, other, padding = rows
    found = [fact for _, fact in all_of(world, rows)]
    if "T" not in world.fixed:
        found += [0 <= row, row < other, other < padding, padding < world.T, world.is_live(other)]
        found += [world.first(row) == row, world.first(other) == other, z3.Not(world.is_live(padding))]
    has_history = world.fixed.get("width", 2) * world.geometry.N > 1
    at_first = z3.And(row == 0, world.first(row) == row)
    return [*found, at_first, world.is_live(row), world.position(row) >= int(has_history)]
