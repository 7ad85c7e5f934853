"""Obligation: no two programs or lanes meet, and each element of `out` is stored by exactly one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

import z3

from properties.proofs.accesses import row_of
from properties.proofs.claims import Claim
from properties.proofs.evaluate import Evaluation, NotJudged, Site
from properties.proofs.launches import Symbolic
from properties.proofs.world import AnyWorld, World

USES = frozenset({"distinct slots", "no slot is a tap", "windows"})


def claims(kernel: Symbolic, world: World) -> Iterator[Claim]:
    """Stores against stores, stores to the cache against loads from it, and the cover of `out`."""
    sites = Evaluation(kernel, world).sites
    tensor_of = {id(site): _tensor(kernel, world, site) for site in sites}
    for tensor in ("out", "cache"):
        mine = [site for site in sites if site.is_store and tensor_of[id(site)] == tensor]
        for left, right in combinations_with_replacement(mine, 2):
            yield apart(kernel, world, left, right, f"no two lanes store one element of {tensor}")
    stored = [site for site in sites if site.is_store and tensor_of[id(site)] == "cache"]
    read = [site for site in sites if not site.is_store and tensor_of[id(site)] == "cache"]
    for left in stored:
        for right in read:
            yield apart(kernel, world, left, right, "no lane stores to the cache what another one reads")
    covering = [site for site in sites if site.is_store and tensor_of[id(site)] == "out"]
    if len(covering) != 1:
        raise NotJudged(f"the kernel stores to the result in {len(covering)} places, and one is understood")
    yield _cover(kernel, world, covering[0])


def _tensor(kernel: Symbolic, world: World, site: Site) -> str:
    return Evaluation(kernel, world).access(site).tensor.name


def apart(kernel: Symbolic, world: AnyWorld, left: Site, right: Site, what: str) -> Claim:
    """Two programs, or two lanes of one, never meet at one element; two places of a kernel never do at all."""
    one, other = Evaluation(kernel, world, " a"), Evaluation(kernel, world, " b")
    a, b = one.access(left), other.access(right)
    pairs = zip((*one.programs, *a.rounds, *a.lanes), (*other.programs, *b.rounds, *b.lanes), strict=False)
    is_other = z3.Or([x != y for x, y in pairs]) if left is right else z3.BoolVal(True)
    meet = z3.And([x == y for x, y in zip(a.index, b.index, strict=True)])
    return Claim(
        what, world, [one, other], z3.And(a.guard, b.guard, is_other), z3.Not(meet), right, row_of(other, b), uses=USES
    )  # fmt: skip  # condition, claim


def _cover(kernel: Symbolic, world: World, site: Site) -> Claim:
    """For every element a program and lane that stores it, guessed from the tile, checked by the solver."""
    evaluation = Evaluation(kernel, world)
    access = evaluation.access(site)
    row, channel = z3.Int("any row"), z3.Int("any channel")
    shape = evaluation.types[site.operation.operands[0]].shape
    exists = z3.And(0 <= row, row < world.T, 0 <= channel, channel < world.geometry.C)
    best: Claim | None = None
    for guess in _guesses(world, shape, row, channel):
        places = (*evaluation.programs, *access.lanes)
        pairs = [(place, to) for place, to in zip(places, guess, strict=True) if not z3.is_int_value(place)]
        reached = z3.And(
            *evaluation.facts, access.guard, access.index[0] == row, access.index[1] == channel,
        )  # fmt: skip  # as it is read
        # metadata at other rows than this one would need their axioms; a store to out asks for none
        claim = Claim(
            "each element of out is stored", world, [], exists, z3.substitute(reached, *pairs), site, row
        )  # fmt: skip  # condition, claim
        if claim.ask().is_proved:
            return claim
        best = best or claim
    if best is None:
        raise NotJudged(f"the tile of the store to the result has {len(shape)} axes, and two are understood ({site})")
    return best


def _guesses(
    world: World, shape: tuple[int, ...], row: z3.ArithRef, channel: z3.ArithRef
) -> Iterator[tuple[z3.ArithRef, ...]]:
    """Programs and lanes that may store an element: channels in one run, or tiled within each head."""
    if len(shape) != 2:
        return
    rows, channels = shape
    ws, zero = world.geometry.ws, z3.IntVal(0)
    in_head = channel % ws
    for tile, lane in (
        (channel / channels, channel % channels),
        ((channel / ws) * -(-ws // channels) + in_head / channels, in_head % channels),
    ):
        yield row / rows, tile, zero, row % rows, lane
        yield tile, row / rows, zero, row % rows, lane
