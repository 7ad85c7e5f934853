"""A model that breaks a claim, turned into cases, and the case that the concrete machine confirms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch
from itertools import accumulate, pairwise
from typing import Any

import z3

from properties.cases import FAR, Case, Forward, Layout, Metadata, Request
from properties.proofs.claims import Claim
from properties.proofs.requests import MOST_REQUESTS, RequestsWorld
from properties.proofs.taps import EXPRESSION, NO_SLOT, situation
from properties.proofs.world import PAGE, ROW, TABLE_ROW, World
from properties.replay import replay
from properties.verdict import NotJudged, Violation

# What a case is judged by, on the machine: whatever an obligation says wrong of a kernel, one of these sees.
CONFIRMING = ("hazards.fused_sconv", "values.dense_exact", "cache.stores_inputs", "cache.write_frame")
CONFIRMING_METADATA = ("hazards.sconv_seq_metadata", "metadata.searchsorted")
# A stride beyond 32 bits lies in sparse memory, where the sizes group judges.
FAR_CASES = {
    PAGE: ("sizes.far_blocks", Layout(page_pad=FAR, spare_blocks=4)),
    TABLE_ROW: ("sizes.far_table", Layout(table_gap=FAR)),
    ROW: ("sizes.far_rows", Layout(x_gap=FAR)),
}
MOST_PADDED = 2**12  # rows of metadata
MOST_START = 2**22  # tokens in the cache, each of which lies in a block
MOST_ROWS = 64  # of a case that is tried: larger models are not run


def confirmed(target: str, claim: Claim, model: z3.ModelRef, seen: tuple[str, ...]) -> tuple[str, Case, str] | None:
    """The property, the case in which the machine sees what the claim denies, and that in words; None if none shows it.

    seen: words of its violations that say just that; another fault of the kernel confirms nothing. A case that shows
    it in the tensor that the claim is about comes first.
    """
    beside = None
    for name, case in cases(claim, model):
        try:
            replay(target, name, case, engine="ttir")
        except Violation as violation:
            words = f"{violation.property_name} {violation.got}"
            if not any(word in words for word in seen):
                continue
            found = violation.property_name, case, _shown(claim, violation)
            if claim.tensor in ("", violation.what) or violation.what not in ("out", "cache"):
                return found
            beside = beside or found
        except (NotJudged, ValueError):
            continue
    return beside


def _shown(claim: Claim, violation: Violation) -> str:
    """What does not hold, of the row in which a case shows it: the model's own may be another."""
    if violation.what != "out" or not isinstance(case := violation.case, Forward):
        return claim.what
    if claim.tensor != "out":
        return f"{claim.what} (the case shows it by an element of out)" if claim.tensor else claim.what
    words, request, position = NO_SLOT, violation.where.get("request"), violation.where.get("position")
    if isinstance(request, int) and isinstance(position, int):
        number = position - case.requests[request].start
        if case.first_rows[request] + number not in case.holes:
            words = situation(case.geometry.W, number, position)
    return f"{EXPRESSION}{words}"


def cases(claim: Claim, model: z3.ModelRef) -> Iterator[tuple[str, Case]]:
    """Cases that agree with a model as far as it goes, with the properties to judge them by."""
    yield from _cases(claim.world, claim, model)


@singledispatch
def _cases(world: Any, claim: Claim, model: z3.ModelRef) -> Iterator[tuple[str, Case]]:
    raise TypeError(world)


@_cases.register
def _(world: RequestsWorld, claim: Claim, model: z3.ModelRef) -> Iterator[tuple[str, Metadata]]:
    """The call of the model, with what it leaves open in order, and calls with as many requests beside it."""

    def number(expression: z3.ArithRef) -> int:
        return int(model.eval(expression, model_completion=True).as_long())

    requests = min(number(world.R), MOST_REQUESTS)
    actual, padded = (min(number(count), MOST_PADDED) for count in (world.actual, world.T))
    ends = [min(max(number(world.entry(z3.IntVal(one))), 0), actual) for one in range(requests + 1)]
    starts = list(accumulate(ends, max))
    lengths = tuple(end - start for start, end in pairwise(starts))
    same = Metadata(lengths=lengths, padding=max(0, padded - sum(lengths)))
    for case in (same, Metadata(lengths=(1,) * requests, padding=2), Metadata(lengths=(0, 3, 1), padding=300)):
        for name in CONFIRMING_METADATA:
            yield name, case


@_cases.register
def _(world: World, claim: Claim, model: z3.ModelRef) -> Iterator[tuple[str, Forward]]:
    """Forwards that agree with a model in its row."""
    geometry = world.geometry
    if claim.far:
        name, layout = FAR_CASES[claim.far]
        requests = (Request(), Request(), Request(start=geometry.N + 1))
        for seed in range(1, 4):
            yield name, Forward(geometry=geometry, requests=requests, layout=layout, block_seed=seed)
        return
    for batch in _batches(claim, model):
        case = replace(batch, geometry=geometry, use_residual=world.use_residual, activation=world.activation)
        if case.T <= MOST_ROWS and all(request.start <= MOST_START for request in case.requests):
            for name in CONFIRMING:
                yield name, case


def _batches(claim: Claim, model: z3.ModelRef) -> Iterator[Forward]:
    """The row with the rest of the batch filled in, in a few ways, since the model says nothing of other rows."""
    world = claim.world

    def number(expression: z3.ArithRef) -> int:
        return model.eval(expression, model_completion=True).as_long()

    T = number(world.T)
    row = T - 1 if claim.row is None else min(max(0, number(claim.row)), T - 1)
    at = z3.IntVal(row)
    first, position = number(world.first(at)), number(world.position(at))
    room = number(world.width) * world.geometry.N  # tokens that a row of the model's table has room for

    def others(rows: int) -> tuple[Request, ...]:
        """Requests of so many rows, which do not ask for a wider table than the model's."""
        if rows < room or room < 2:
            return (Request(start=1, length=rows),) if rows else ()
        return (Request(start=1),) * rows

    if number(world.slot(at)) >= 0 and first <= row:
        start, mine = position - (row - first), row - first + 1
        before = others(first)
        after = T - first - mine
        yield Forward(requests=(*before, Request(start, T - first)), block_seed=1)
        yield Forward(requests=(*before, Request(start, mine)), pads=after, block_seed=2)
        if after:
            yield Forward(requests=(*before, Request(start, mine), *others(after)), block_seed=3)
    else:
        yield Forward(requests=others(row), pads=T - row, block_seed=1)
        yield Forward(requests=(Request(start=1, length=T),), holes=(row,), block_seed=2)
    # the solver names no other request; one with a history beside it shows what meets there
    N, W = world.geometry.N, world.geometry.W
    yield Forward(requests=(Request(N + W, 2), Request(N + 1, max(1, T - 2)), Request(W, 1)), pads=1, block_seed=4)
