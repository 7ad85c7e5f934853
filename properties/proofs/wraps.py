"""Obligation: no index arithmetic wraps where an access depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import z3

from properties.proofs.accesses import row_of
from properties.proofs.claims import Claim, together
from properties.proofs.evaluate import Evaluation, Lanes, Noted, Path, Site
from properties.proofs.forms import Form
from properties.proofs.launches import Symbolic
from properties.proofs.world import PAGE, ROW, TABLE_ROW, AnyWorld

PRESUMED = (
    "whether an index wraps can be shown only where it lies inside its axis, and whether that which the {} multiplies "
    "does is what `accesses` judges"
)
BY_VALUE = ("values.", "cache.", "metadata.")  # what violations are of that show a value computed of wrapped numbers


def claims(kernel: Symbolic, world: AnyWorld) -> Iterator[Claim]:
    """One claim for each sum, difference and product: of an address where it is active, of a mask everywhere."""
    seen: dict[Any, Noted] = {}  # by operation, branches and what it gives at its lane
    for site in Evaluation(kernel, world).sites:
        evaluation = Evaluation(kernel, world)
        access = evaluation.access(site)
        operands, path = site.operation.operands, site.path
        row = row_of(evaluation, access)
        # a branch is decided in every program that comes to it, a mask in every lane
        deciding: list[tuple[Path, tuple[int, ...], Lanes]]
        deciding = [(path[:depth], (slot,), ()) for depth, (slot, _) in enumerate(path)]
        deciding.append((path, operands[2:3] if site.is_store else operands[1:2], access.lanes))
        for before, slots, lanes in deciding:
            condition = evaluation.is_reached(before)
            notes = [note for note in evaluation.arithmetic(slots, lanes) if _place(note, before) not in seen]
            open_ = [note for note in notes if note.result is not None and _is_undefined(note.result.flat)]
            notes = [note for note in notes if note not in open_]
            seen |= {_place(note, before): note for note in notes}
            yield from _all_fit(world, evaluation, site, condition, notes, row)
            # what is computed of an undefined number matters where the rest of the mask lets it
            matters = condition if not lanes else z3.And(condition, _whatever_undefined(access.guard))
            yield from _all_fit(world, evaluation, site, matters, open_, row)
        yield from _all_fit(
            world, evaluation, site, access.guard, evaluation.arithmetic(operands[:1], access.lanes), row
        )
        if site.is_store:
            yield from _of_value(kernel, world, site)


def _place(note: Noted, before: Path) -> tuple[Any, ...]:
    """What tells an operation at a lane and in branches from others, while the note lives."""
    assert note.result is not None
    return id(note.operation), before, tuple((key, one.get_id()) for key, one in note.result.terms)


def _of_value(kernel: Symbolic, world: AnyWorld, site: Site) -> Iterator[Claim]:
    """That of what is stored, choices within it too: the other obligations take its integers as exact."""
    evaluation = Evaluation(kernel, world)  # of its own, whose rows are those that the value needs
    access = evaluation.access(site)
    _ = access.value  # evaluated, so that its arithmetic is noted
    notes = evaluation.arithmetic(site.operation.operands[1:2], access.lanes)
    for claim in _all_fit(world, evaluation, site, access.guard, notes, row_of(evaluation, access)):
        parts = [replace(part, shown=BY_VALUE) for part in claim.parts]
        yield replace(claim, what="no arithmetic of a stored value wraps", parts=parts)


def _is_undefined(term: z3.ExprRef) -> bool:
    """Whether a term speaks of a number that an inactive lane loads without `other`."""
    if z3.is_const(term):
        return str(term).startswith("undefined")
    return any(_is_undefined(one) for one in term.children())


def _whatever_undefined(guard: z3.BoolRef) -> z3.BoolRef:
    """A condition with every comparison of undefined numbers left open, as a symbol of its own."""
    if not _is_undefined(guard):
        return guard
    parts = guard.children()
    if z3.is_and(guard) or z3.is_or(guard) or z3.is_not(guard):
        return guard.decl()(*[_whatever_undefined(one) for one in parts])
    return z3.Bool(f"open {guard.get_id()}")


def _all_fit(
    world: AnyWorld, evaluation: Evaluation, site: Site, condition: z3.BoolRef, notes: list[Noted],
    row: z3.ArithRef | None,
) -> Iterator[Claim]:  # fmt: skip  # arguments of _fits
    parts = [claim for note in notes for claim in _fits(world, evaluation, site, condition, note, row)]
    if parts:
        yield together(parts)


def _fits(
    world: AnyWorld, evaluation: Evaluation, site: Site, condition: z3.BoolRef, note: Noted, row: z3.ArithRef | None
) -> Iterator[Claim]:
    """The result is in the range of its type; a product with a stride is at most the tensor's extent."""
    assert note.operation is not None
    assert note.result is not None
    here = Site(note.operation, site.path)
    flat, bounds, far = _bounded(evaluation, note.result)
    high = 2 ** (note.bits - 1)
    for symbol, coefficient in far:
        size = {PAGE: world.num_blocks, ROW: world.T, TABLE_ROW: world.R}[symbol]
        yield Claim(
            f"the index that the {symbol} multiplies lies inside its axis", world, [evaluation], condition,
            z3.And(0 <= coefficient, coefficient < size), here, row, unless=PRESUMED.format(symbol),
        )  # fmt: skip  # condition, claim
    yield Claim(
        f"{note.operation.name} stays within {note.bits} bits", world, [evaluation], condition,
        z3.And(-high <= flat, flat < high), here, row, far=far[0][0] if far else "",
        limit=None if "T" in world.fixed else world.T, facts=bounds,
    )  # fmt: skip  # condition, claim


def _bounded(evaluation: Evaluation, form: Form) -> tuple[z3.ArithRef, list[z3.BoolRef], list[tuple[str, z3.ArithRef]]]:
    """A form with each product of index and stride as a number below the extent of its tensor, which stays linear."""
    limits = evaluation.world.limits
    extents = {PAGE: limits.cache, ROW: limits.x, TABLE_ROW: limits.table}
    total = z3.IntVal(0)
    bounds, far = [], []
    for (symbol, factor), one in form.terms:
        if not symbol:
            total = total + factor * one
            continue
        product = evaluation.unknown("product", z3.IntSort())
        bounds += [0 <= product, product < extents[symbol], z3.Implies(one == 0, product == 0)]
        far.append((symbol, one))
        total = total + factor * product
    return total, bounds, far
