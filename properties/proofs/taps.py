"""Obligation: what is stored is the contract's expression, at the contract's place."""

from __future__ import annotations

from collections.abc import Iterator

import z3

from properties.proofs.accesses import row_of
from properties.proofs.claims import Claim
from properties.proofs.evaluate import Access, Evaluation, NotJudged, Site
from properties.proofs.floats import IS_FINITE, add, multiply, rounded, silu, widened
from properties.proofs.launches import Symbolic
from properties.proofs.world import ZERO, World

ELEMENTS = {"bf16": "bf16", "fp16": "f16", "fp32": "f32"}  # the contract's dtypes in MLIR's words

EXPRESSION = "out is the contract's expression for "
NO_SLOT = "a row without a slot"
USES = frozenset({"contiguous rows", "windows", "finite weights"})


def claims(kernel: Symbolic, world: World) -> Iterator[Claim]:
    """The value in `out`, case by case; the value and place in the cache; that every row with a slot is stored."""
    outs, caches = stores(kernel, world, "out"), stores(kernel, world, "cache")
    if not outs:
        raise NotJudged("the kernel never stores to the result")
    for evaluation, out in outs:
        row, channel = out.index
        stored = out.value  # whose products are the next line's
        right = _products(evaluation, world, row, channel)
        expected = value(evaluation, world, row, channel)
        every = [
            Claim(
                f"{EXPRESSION}{what}", world, [evaluation],
                z3.And(out.guard, case), stored == expected, out.site, row, weaker=right, tensor="out", uses=USES,
            ) for what, case in situations(world, row)
        ]  # fmt: skip  # condition, claim
        if out.site.path and every[1:-1]:
            # a branch may be for rows whose taps are all in x: then one question stands for many
            early = z3.And(out.guard, world.is_live(row), row - world.first(row) < world.geometry.W - 1)
            none = Claim(
                "the first rows of a request are stored elsewhere", world, [evaluation], early, z3.BoolVal(False),
                out.site, row, uses=USES, parts=every[1:-1],
            )  # fmt: skip  # condition, claim
            every[1:-1] = [none]
        yield from every
    for tensor in sorted({*world.tensors} - {"out", "cache"}):
        for evaluation, stored in stores(kernel, world, tensor):
            yield Claim(
                f"{tensor} is not written", world, [evaluation], stored.guard,
                z3.BoolVal(False), stored.site, row_of(evaluation, stored),
            )  # fmt: skip  # condition, claim
    beside = [_beside(stored, caches, outs) for _, stored in caches]
    for (evaluation, stored), of_row in zip(caches, beside, strict=True):
        # which row a program's lane stands for, its store to out says
        row, channel = evaluation.access(of_row).index
        inside = world.tensors["out"].inside((row, channel))
        yield Claim(
            "the cache gets x of a row with a slot, at the slot's place", world, [evaluation],
            stored.guard,
            z3.And(inside, world.is_live(row), _is_at(world, stored, row, channel),
                   stored.value == world.tensors["x"].contents(row, channel)),
            stored.site, row, tensor="cache",
        )  # fmt: skip  # condition, claim
    for evaluation, out in outs:
        mine = [one for (_, one), of_row in zip(caches, beside, strict=True) if of_row.operation is out.site.operation]
        there = [evaluation.access(one.site, out.lanes).guard for one in mine]
        row = out.index[0]
        yield Claim(
            "every row with a slot is stored in the cache", world, [evaluation],
            z3.And(out.guard, world.is_live(row)), z3.Or(there), caches[0][1].site if caches else out.site, row,
            tensor="cache",
        )  # fmt: skip  # condition, claim


def stores(kernel: Symbolic, world: World, tensor: str, name: str = "") -> list[tuple[Evaluation, Access]]:
    """Every store to a tensor, each in an evaluation of its own."""
    found = []
    for site in Evaluation(kernel, world, name).sites:
        evaluation = Evaluation(kernel, world, name)
        if site.is_store and evaluation.access(site).tensor.name == tensor:
            found.append((evaluation, evaluation.access(site)))
    return found


def _beside(stored: Access, caches: list[tuple[Evaluation, Access]], outs: list[tuple[Evaluation, Access]]) -> Site:
    """The store to the result of the rows of a store to the cache: as many of its tile come before it in its branch."""

    def alike(every: list[tuple[Evaluation, Access]]) -> list[Site]:
        tiles = [one.site for _, one in every if len(one.lanes) == len(stored.lanes)]
        return [site for site in tiles if (site.path, site.rounds) == (stored.site.path, stored.site.rounds)] or tiles

    number = [site.operation for site in alike(caches)].index(stored.site.operation)
    if number >= len(alike(outs)):
        raise NotJudged(f"no store to the result has the tile of the store to the cache ({stored.site})")
    return alike(outs)[number]


def situations(world: World, row: z3.ArithRef) -> list[tuple[str, z3.BoolRef]]:
    """The cases by where each tap comes from: they cover every row, and make the proof small ones."""
    W, live = world.geometry.W, world.is_live(row)
    age, position = row - world.first(row), world.position(row)
    found = [(NO_SLOT, z3.Not(live))]
    for number in range(W - 1):
        for at in range(number, W - 1):
            found.append((situation(W, number, at), z3.And(live, age == number, position == at)))
        found.append((situation(W, number, W - 1), z3.And(live, age == number, position >= W - 1)))
    return [*found, (situation(W, W - 1, W - 1), z3.And(live, age >= W - 1))]


def situation(W: int, number: int, position: int) -> str:
    """The case of a row with a slot, by its number in its request and by its position, in words."""
    if number >= W - 1:
        return f"row {W - 1} of a request or a later one"
    at = str(position) if position < W - 1 else f"{W - 1} or later"
    return f"row {number} of a request, at position {at}"


def tap(world: World, row: z3.ArithRef, channel: z3.ArithRef, age: int) -> z3.ExprRef:
    """The contract's tap of a row, so many positions before it: of x, of the cache, or nothing."""
    geometry = world.geometry
    N, ws = geometry.N, geometry.ws
    x, cache = world.tensors["x"].contents, world.tensors["cache"].contents
    if age == 0:
        return z3.If(world.is_live(row), x(row, channel), ZERO)
    position = world.position(row) - age
    block = world.block(world.request(row), position / N)
    cached = cache(block, channel / ws, position % N, geometry.off_s + channel % ws)
    of_forward = row - age >= world.first(row)
    return z3.If(world.is_live(row), z3.If(of_forward, x(row - age, channel), z3.If(position >= 0, cached, ZERO)), ZERO)


def value(one: Evaluation, world: World, row: z3.ArithRef, channel: z3.ArithRef) -> z3.ExprRef:
    """The contract's value of an element of `out`."""
    W, narrow = world.geometry.W, ELEMENTS[world.geometry.dtype]
    x, weight = world.tensors["x"].contents, world.tensors["weight"].contents
    total: z3.ExprRef = ZERO
    one.floats += [IS_FINITE(ZERO), widened(ZERO, narrow) == ZERO]
    for k in range(W):
        factor = weight(channel, z3.IntVal(k))
        one.owed += [("finite weights", IS_FINITE(item)) for item in (factor, widened(factor, narrow))]
        product = multiply(one, widened(tap(world, row, channel, W - 1 - k), narrow), widened(factor, narrow), "f32")
        total = add(one, total, product, "f32")
    total = z3.If(world.is_live(row), total, ZERO)
    if world.activation is not None:
        total = silu(one, total)
    if world.use_residual:
        total = add(one, total, widened(x(row, channel), narrow), "f32")
    return rounded(total, narrow)


def _products(one: Evaluation, world: World, row: z3.ArithRef, channel: z3.ArithRef) -> z3.BoolRef:
    """Whether each tap is multiplied by its weight by some product that the program computes."""
    W, narrow = world.geometry.W, ELEMENTS[world.geometry.dtype]
    found = []
    for k in range(W):
        factor = widened(world.tensors["weight"].contents(channel, z3.IntVal(k)), narrow)
        one_tap = widened(tap(world, row, channel, W - 1 - k), narrow)
        pairs = [
            z3.And(one.is_reached(one.paths[id(product)]), a == one_tap, b == factor)
            for product, x, y in one.products
            for a, b in ((x, y), (y, x))
        ]
        found.append(z3.Or(pairs))
    return z3.And(found)


def _is_at(world: World, stored: Access, row: z3.ArithRef, channel: z3.ArithRef) -> z3.BoolRef:
    geometry = world.geometry
    slot = world.slot(row)
    block, head, offset, place = stored.index
    return z3.And(
        block == slot / geometry.N,
        head == channel / geometry.ws,
        offset == slot % geometry.N,
        place == geometry.off_s + channel % geometry.ws,
    )
