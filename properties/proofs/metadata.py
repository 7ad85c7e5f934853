"""Obligation: the search of `sconv_seq_metadata` ends at the owner, and touches nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement

import z3

from properties.proofs import accesses, wraps
from properties.proofs.claims import Claim
from properties.proofs.conflicts import apart
from properties.proofs.evaluate import Access, Evaluation, NotJudged
from properties.proofs.launches import Symbolic
from properties.proofs.requests import BUFFERS, RequestsWorld, span


def claims(kernel: Symbolic, world: RequestsWorld) -> Iterator[Claim]:
    """Accesses, owners, conflicts, cover and wraps; with an invariant also that it holds before each round."""
    for claim in _claims(kernel, world):
        yield _with(claim, kernel, world)


def _claims(kernel: Symbolic, world: RequestsWorld) -> Iterator[Claim]:
    yield from accesses.claims(kernel, world)
    stores = {name: _stores(kernel, world, name) for name in world.tensors}
    for evaluation, stored in stores["query_start_loc"]:
        yield Claim("query_start_loc is not written", world, [evaluation], stored.guard, z3.BoolVal(False), stored.site)
    for name in BUFFERS:
        if not stores[name]:
            raise NotJudged(f"the kernel never stores to {name}")
        for evaluation, stored in stores[name]:
            yield from _values(world, name, evaluation, stored)
        sites = [stored.site for _, stored in stores[name]]
        pairs = combinations_with_replacement(sites, 2)
        yield from apart(kernel, world, pairs, f"no two lanes store one element of {name}")
        yield _cover(kernel, world, name)
    yield from wraps.claims(kernel, world)
    if world.invariant is not None:
        yield from _rounds(kernel, world)


def _values(world: RequestsWorld, name: str, evaluation: Evaluation, stored: Access) -> Iterator[Claim]:
    (row,) = stored.index
    owner = world.owner(row)
    right = owner if name == "seq_idx_out" else world.entry(owner)
    is_actual = row < world.actual
    yield Claim(
        f"{name} gets " + ("the owner of the row" if name == "seq_idx_out" else "the first row of the row's owner"),
        world, [evaluation], z3.And(stored.guard, is_actual), stored.value.flat == right, stored.site, row,
        more_rows=[owner, owner + 1],
    )  # fmt: skip  # condition, claim
    yield Claim(
        f"{name} gets 0 for padding", world, [evaluation], z3.And(stored.guard, z3.Not(is_actual)),
        stored.value.flat == 0, stored.site, row,
    )  # fmt: skip  # condition, claim


def _stores(kernel: Symbolic, world: RequestsWorld, name: str) -> list[tuple[Evaluation, Access]]:
    """Every store to a buffer, each in an evaluation of its own."""
    found = []
    for site in Evaluation(kernel, world).sites:
        evaluation = Evaluation(kernel, world)
        if site.is_store and evaluation.access(site).tensor.name == name:
            found.append((evaluation, evaluation.access(site)))
    return found


def _cover(kernel: Symbolic, world: RequestsWorld, name: str) -> Claim:
    """For every padded row the program and lane that store it, guessed from the tile, checked by the solver."""
    row = z3.Int("any row")
    reached = []
    for evaluation, stored in _stores(kernel, world, name):
        shape = evaluation.types[stored.site.operation.operands[0]].shape
        if len(shape) != 1:
            raise NotJudged(f"the tile of the store to {name} has {len(shape)} axes, and one is understood")
        places = [*zip(evaluation.programs, (row / shape[0], z3.IntVal(0), z3.IntVal(0)), strict=True)]
        places += [(stored.lanes[0], row % shape[0])] if shape[0] > 1 else []
        is_there = z3.And(*evaluation.facts, stored.guard, stored.index[0] == row)
        reached.append(z3.substitute(is_there, *places))
    exists = z3.And(0 <= row, row < world.T)
    return Claim(f"each padded row of {name} is stored", world, [], exists, z3.Or(reached), stored.site, row)


def _rounds(kernel: Symbolic, world: RequestsWorld) -> Iterator[Claim]:
    """The invariant holds before the first round, and after a round before which it holds."""
    evaluation = Evaluation(kernel, world)
    row, left = _row(evaluation), _left(evaluation)
    cut, inside = evaluation.plan.cuts[0], evaluation.is_reached(((evaluation.plan.cuts[0].inside, True),))
    assert world.invariant is not None
    for what, slots, condition, requests in (
        ("before the first round", cut.first, z3.BoolVal(True), span(world.rounds)),
        ("after each round", cut.after, inside, span(left - 1)),
    ):
        yield Claim(
            f"the invariant of the search holds {what}", world, [evaluation], condition,
            z3.And(world.invariant.holds(world, row, requests, _numbers(evaluation, slots))),
            evaluation.sites[0], row, more_rows=[world.owner(row), world.owner(row) + 1],
        )  # fmt: skip  # condition, claim


def _with(claim: Claim, kernel: Symbolic, world: RequestsWorld) -> Claim:
    """A claim with what is known of owners at its row, and of the loop that is cut."""
    facts = [*claim.facts] + ([] if claim.row is None else [world.owns(claim.row)])
    more = list(claim.more_rows)
    for evaluation in claim.evaluations if world.invariant is not None else ():
        facts += _loop(evaluation)
        more += _numbers(evaluation, evaluation.plan.cuts[0].behind)
    return replace(claim, facts=facts, more_rows=more, parts=[_with(part, kernel, world) for part in claim.parts])


def _loop(evaluation: Evaluation) -> list[z3.BoolRef]:
    """What is known within a round and behind the last one."""
    world, cut = evaluation.world, evaluation.plan.cuts[0]
    row, left, rounds = _row(evaluation), _left(evaluation), world.rounds
    first, end, step = (evaluation.at(slot, ()) for slot in cut.rounds)
    if (first.number, step.number) != (0, 1) or not end.flat.eq(rounds):
        raise NotJudged("the loop's rounds are not those of which its invariant speaks")
    holds, base = world.invariant.holds, world.invariant.base
    within = holds(world, row, span(left), _numbers(evaluation, cut.within))
    found = [
        z3.Implies(evaluation.is_reached(((cut.inside, True),)), z3.And(1 <= left, left <= rounds, *within)),
        *holds(world, row, span(z3.IntVal(0)), _numbers(evaluation, cut.behind)),
        world.owns(row),
        span(z3.IntVal(0)) == 1,
        z3.Implies(left >= 1, span(left) == base * span(left - 1)),
        rounds >= 0,
        span(rounds) >= world.R,
    ]
    if world.invariant.width:
        largest = 1  # that a width can be which is less than the number of requests
        while largest * base < world.limits.rows:
            largest *= base
        found += [z3.Implies(one >= 1, span(one) == base * span(one - 1)) for one in (rounds, left - 1)]
        found += [
            z3.Implies(z3.And(1 <= left, left <= rounds), z3.And(1 <= span(left - 1), span(left) <= span(rounds)))
        ]
        found += [z3.Implies(rounds >= 1, span(rounds - 1) <= largest)]
    return found


def _left(evaluation: Evaluation) -> z3.ArithRef:
    return z3.Int(f"rounds left{evaluation.name}")


def _numbers(evaluation: Evaluation, slots: tuple[int, ...]) -> tuple[z3.ArithRef, ...]:
    """What slots of the loop hold, numbers of a lane before those of the program."""
    shapes = [evaluation.types[slot].shape for slot in slots]
    held = [evaluation.at(slot, evaluation.lanes(shape)).flat for slot, shape in zip(slots, shapes, strict=True)]
    return tuple(held[place] for place in sorted(range(len(held)), key=lambda place: not shapes[place]))


def _row(evaluation: Evaluation) -> z3.ArithRef:
    """The row of a lane, which its stores say."""
    store = next(site for site in evaluation.sites if site.is_store)
    return evaluation.access(store).index[0]
