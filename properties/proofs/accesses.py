"""Obligation: every load and store is inside its tensor."""

from __future__ import annotations

from collections.abc import Iterator

from properties.proofs.claims import Claim
from properties.proofs.evaluate import Access, Evaluation
from properties.proofs.launches import Symbolic
from properties.proofs.world import AnyWorld


def claims(kernel: Symbolic, world: AnyWorld) -> Iterator[Claim]:
    """One claim for each load and store of the kernel."""
    for site in Evaluation(kernel, world).sites:
        evaluation = Evaluation(kernel, world)  # of its own: fewer rows, fewer axioms
        access = evaluation.access(site)
        what = "store to" if site.is_store else "load from"
        yield Claim(
            f"every {what} {access.tensor.name} lies inside it",
            world,
            [evaluation],
            access.guard,
            access.tensor.inside(access.index),
            site,
            row=row_of(evaluation, access),
        )


def row_of(evaluation: Evaluation, access: Access) -> object:
    """The row that an access is about: of its metadata, else of the rows that it touches itself."""
    if evaluation.rows:
        return next(iter(evaluation.rows.values()))
    return access.index[0] if access.tensor.sizes[0] is evaluation.world.T else None
