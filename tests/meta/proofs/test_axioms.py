"""The assumptions of the proofs: every generated case satisfies them, and every one of them is needed."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings

pytest.importorskip("z3", reason="proofs need z3-solver, which is not installed")
import z3

from properties.candidate import load
from properties.cases import Forward
from properties.proofs.axioms import AXIOMS, all_of
from properties.proofs.claims import Claim
from properties.proofs.forward import launch
from properties.proofs.prove import OBLIGATIONS
from properties.proofs.world import PAGE, ROW, TABLE_ROW, World
from properties.strategies import forwards
from properties.tensors import build
from tests.meta.proofs.conftest import SMALL
from tests.meta.proofs.faults import TILED

MOST_ROWS = 10  # that axioms are instantiated at: first, last and those around the requests' first rows


def facts_of(case: Forward, world: World, rows: list[int]) -> list[z3.BoolRef]:
    """What a case says of the symbols: sizes, the metadata of these rows, the table's entries around their windows."""
    batch = build(case)
    sizes = (
        (world.T, case.T), (world.R, batch.block_table.shape[0]), (world.width, batch.block_table.shape[1]),
        (world.num_blocks, batch.cache.shape[0]), (z3.Int(PAGE), batch.cache.stride(0)),
        (z3.Int(ROW), batch.x.stride(0)), (z3.Int(TABLE_ROW), batch.block_table.stride(0)),
    )  # fmt: skip  # symbol, number
    found = [symbol == number for symbol, number in sizes]
    for row in rows:
        position, request = int(batch.positions[row]), int(batch.seq_idx[row])
        at = z3.IntVal(row)
        found += [
            world.position(at) == position,
            world.request(at) == request,
            world.slot(at) == int(batch.slots[row]),
            world.first(at) == int(batch.query_start[row]),
        ]
        for age in range(world.geometry.W):
            column = (position - age) // world.geometry.N
            if 0 <= column < batch.block_table.shape[1]:
                entry = int(batch.block_table[request, column])
                found.append(world.block(z3.IntVal(request), z3.IntVal(column)) == entry)
    return found


@settings(max_examples=30)
@given(forwards("bf16"))
def test_generated_cases_satisfy_every_axiom(case):
    """A forward that the judge draws violates no assumption: the proofs speak about it."""
    assume(case.T > 0)
    world = World(case.geometry, rows_apart=True)
    marked = {0, case.T - 1, *(row + step for row in case.first_rows for step in (-1, 0, 1)), *case.holes}
    rows = sorted(row for row in marked if 0 <= row < case.T)[:MOST_ROWS]
    solver = z3.Solver()
    solver.add(*facts_of(case, world, rows))
    assert solver.check() == z3.sat
    for name, fact in all_of(world, [z3.IntVal(row) for row in rows]):
        assert solver.check(z3.Not(fact)) == z3.unsat, name


@pytest.fixture(scope="module")
def every_claim() -> list[Claim]:
    """Every claim about the usual program of the fixture at a small geometry."""
    world = World(SMALL)
    kernel = launch(load(TILED).operators["fused_sconv"], world)
    return [claim for one in OBLIGATIONS for claim in one.claims(kernel, world)]


@pytest.mark.parametrize("name", AXIOMS)
def test_every_axiom_matters(name, every_claim):
    """Without it some claim has a counterexample, so what is proved with it is not vacuous."""
    assert any(claim.ask(frozenset({name})).model is not None for claim in every_claim)
