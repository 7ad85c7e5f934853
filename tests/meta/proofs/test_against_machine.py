"""The symbolic evaluator touches what the concrete machine touches, element for element."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

pytest.importorskip("z3", reason="proofs need z3-solver, which is not installed")
import z3

from properties.candidate import load
from properties.cases import Forward, Request
from properties.proofs import operations  # noqa: F401  # fills the meanings
from properties.proofs.evaluate import Evaluation
from properties.proofs.forward import launch
from properties.proofs.world import World
from properties.tensors import Batch, build
from properties.ttir import Accesses, Machine
from tests.meta.proofs.conftest import FEW_TAPS
from tests.meta.proofs.faults import TILED
from tests.meta.proofs.test_axioms import facts_of
from tests.meta.upstream_faults import UPSTREAM

# A history across blocks, rows without a slot, a request from position 0 on, and padding: two tiles of rows or more.
CASE = Forward(
    geometry=FEW_TAPS, requests=(Request(4, 3), Request(0, 4), Request(1, 1)), pads=2, holes=(1,), block_seed=1
)
Touched = Counter[tuple[bool, int, str, int]]  # store or load, source line, tensor, element


def by_the_machine(operator, batch: Batch) -> Touched:
    """What the active lanes of a real run touch."""
    found: Touched = Counter()
    accesses = Accesses()
    with Machine(accesses=accesses):
        operator(**batch.arguments)
    names = {batch.guarded[name].view.data_ptr(): name for name in batch.guarded}
    for one in accesses.entries:
        name = names.get(one.buffer.address, "out")
        line = one.operation.location.line
        allowed = np.broadcast_to(True if one.allowed is None else one.allowed, one.full)
        for offset in np.broadcast_to(one.offset, one.full)[allowed]:
            found[one.is_store, line, name, int(offset)] += 1
    return found


def by_the_symbols(operator, batch: Batch) -> Touched:
    """What a model that says of the symbols what the batch says makes each program and lane touch."""
    world = World(batch.case.geometry, parity=batch.case.T % 2)
    kernel = launch(operator, world)
    solver = z3.Solver()
    solver.add(*facts_of(batch.case, world, list(range(batch.case.T))))
    assert solver.check() == z3.sat
    model = solver.model()
    found: Touched = Counter()
    evaluation = Evaluation(kernel, world)
    grid = [model.eval(size).as_long() for size in kernel.grid]
    for site in evaluation.sites:
        shape = evaluation.types[site.operation.operands[0]].shape
        access = evaluation.access(site)
        strides = [model.eval(z3.Int(one)).as_long() if isinstance(one, str) else one for one in access.tensor.strides]
        variables = [*evaluation.programs, *access.rounds, *access.lanes]
        rounds = [len(evaluation.plan.rounds[slot]) for slot in site.rounds]
        asked = z3.And(access.guard), *access.index
        guard, *index = (model.eval(one) for one in asked)  # all but program and lane
        for place in product(*map(range, (*grid, *rounds, *shape))):
            at = [(one, z3.IntVal(number)) for one, number in zip(variables, place, strict=True)]
            at = [(one, number) for one, number in at if not z3.is_int_value(one)]
            if z3.is_true(model.eval(z3.substitute(guard, *at), model_completion=True)):
                numbers = [model.eval(z3.substitute(one, *at), model_completion=True).as_long() for one in index]
                offset = sum(number * stride for number, stride in zip(numbers, strides, strict=True))
                found[site.is_store, site.operation.location.line, access.tensor.name, offset] += 1
    return found


@pytest.mark.parametrize("target", ["sconv", TILED, str(UPSTREAM)], ids=["sconv", "tiled", "upstream"])
def test_touches_what_the_machine_touches(target):
    """Loads and stores of every lane are the same elements, from the same lines, as often."""
    if target == str(UPSTREAM) and not UPSTREAM.is_file():
        pytest.skip(f"judges {UPSTREAM}, which is not here")
    operator = load(target).operators["fused_sconv"]
    batch = build(CASE)
    seen = by_the_machine(operator, batch)
    assert seen.total() > 0
    assert by_the_symbols(operator, batch) == seen
