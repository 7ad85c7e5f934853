"""Obligation: no two programs or lanes meet, and each element of `out` is stored by exactly one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations_with_replacement, product

import z3

from properties.proofs.accesses import row_of
from properties.proofs.claims import Claim
from properties.proofs.evaluate import Access, Evaluation, NotJudged, Site
from properties.proofs.launches import Symbolic
from properties.proofs.world import AnyWorld, World

USES = frozenset({"distinct slots", "no slot is a tap", "windows"})


def claims(kernel: Symbolic, world: World) -> Iterator[Claim]:
    """Stores against stores, stores to the cache against loads from it, and the cover of `out`."""
    sites = Evaluation(kernel, world).sites
    stores: dict[str, list[Site]] = {name: [] for name in ("out", "cache")}
    read: list[Site] = []
    for site in sites:
        tensor = _tensor(kernel, world, site)
        if site.is_store and tensor in stores:
            stores[tensor].append(site)
        elif tensor == "cache":
            read.append(site)
    for tensor, mine in stores.items():
        pairs = combinations_with_replacement(mine, 2)
        yield from apart(kernel, world, pairs, f"no two lanes store one element of {tensor}")
    yield from apart(
        kernel, world, product(stores["cache"], read), "no lane stores to the cache what another one reads"
    )
    if not stores["out"]:
        raise NotJudged("the kernel never stores to the result")
    yield _cover(kernel, world, stores["out"])


def _tensor(kernel: Symbolic, world: World, site: Site) -> str:
    return Evaluation(kernel, world).access(site).tensor.name


def apart(kernel: Symbolic, world: AnyWorld, pairs: Iterable[tuple[Site, Site]], what: str) -> Iterator[Claim]:
    """Two programs, or two lanes of one, never meet at one element; two places of a kernel never do at all."""
    met: dict[tuple[str, int], Access] = {}

    def access(site: Site, name: str) -> Access:
        """A site in an evaluation of its own, which has the rows and facts of no other."""
        if (name, id(site)) not in met:
            met[name, id(site)] = Evaluation(kernel, world, name).access(site)
        return met[name, id(site)]

    for left, right in pairs:
        a, b = access(left, " a"), access(right, " b")
        one, other = a.evaluation, b.evaluation
        places = zip((*one.programs, *a.rounds, *a.lanes), (*other.programs, *b.rounds, *b.lanes), strict=False)
        is_other = z3.Or([x != y for x, y in places]) if left is right else z3.BoolVal(True)
        meet = z3.And([x == y for x, y in zip(a.index, b.index, strict=True)])
        yield Claim(
            what, world, [one, other], z3.And(a.guard, b.guard, is_other), z3.Not(meet), right, row_of(other, b),
            uses=USES,
        )  # fmt: skip  # condition, claim


def _cover(kernel: Symbolic, world: World, sites: list[Site]) -> Claim:
    """For every element a program and lane that stores it, guessed from the tile, checked by the solver."""
    evaluation = Evaluation(kernel, world)
    stored = [evaluation.access(site) for site in sites]
    row, channel = z3.Int("any row"), z3.Int("any channel")
    exists = z3.And(0 <= row, row < world.T, 0 <= channel, channel < world.geometry.C)
    best: Claim | None = None
    for programs, lane in _guesses(evaluation, stored, row, channel):
        reached = []
        for access in stored:
            rows, _ = _tile(evaluation, access)
            inner = [(row % rows)] * (len(access.lanes) - 1)
            rounds = [row / rows % len(evaluation.plan.rounds[slot]) for slot in access.site.rounds]
            places = (*evaluation.programs, *access.rounds, *access.lanes)
            guess = (*programs, *rounds, *inner, lane)
            pairs = [(place, to) for place, to in zip(places, guess, strict=True) if not z3.is_int_value(place)]
            bounds = [fact for fact in evaluation.facts if _speaks_of(fact, places)]
            is_there = z3.And(*bounds, access.guard, access.index[0] == row, access.index[1] == channel)
            reached.append(z3.substitute(is_there, *pairs))
        # metadata at other rows than this one would need their axioms; a store to out asks for none
        claim = Claim("each element of out is stored", world, [], exists, z3.Or(reached), sites[0], row)
        if claim.ask().is_proved:
            return claim
        best = best or claim
    if best is None:
        raise NotJudged(f"the tile of the store to the result has other axes than rows and channels ({sites[0]})")
    return best


def _speaks_of(fact: z3.BoolRef, places: tuple[z3.ArithRef, ...]) -> bool:
    """Whether a bound is one of these programs, rounds and lanes."""
    return any(fact.arg(1).arg(0).eq(place) for place in places)


def _tile(evaluation: Evaluation, access: Access) -> tuple[int, int]:
    """Rows and channels of a store's tile."""
    shape = evaluation.types[access.site.operation.operands[0]].shape
    return (1 if len(shape) == 1 else shape[0]), shape[-1]


def _guesses(
    evaluation: Evaluation, stored: list[Access], row: z3.ArithRef, channel: z3.ArithRef
) -> Iterator[tuple[tuple[z3.ArithRef, ...], z3.ArithRef]]:
    """Programs and lanes that may store an element: channels in one run, or tiled within each head."""
    if any(len(access.lanes) not in (1, 2) or len(access.rounds) > 1 for access in stored):
        return
    tiles = [_tile(evaluation, access) for access in stored]
    rounds = [len(evaluation.plan.rounds[slot]) for access in stored for slot in access.site.rounds]
    rows, channels = max(tile[0] for tile in tiles) * max(rounds, default=1), tiles[0][1]
    geometry, zero = evaluation.world.geometry, z3.IntVal(0)
    in_head, of_head = channel % geometry.ws, -(-geometry.ws // channels)
    for tile, count, lane in (
        (channel / channels, -(-geometry.C // channels), channel % channels),
        ((channel / geometry.ws) * of_head + in_head / channels, geometry.H * of_head, in_head % channels),
    ):
        yield (row / rows, tile, zero), lane
        yield (tile, row / rows, zero), lane
        yield ((row / rows) * count + tile, zero, zero), lane
