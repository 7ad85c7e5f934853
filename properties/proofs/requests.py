"""The symbolic call of `sconv_seq_metadata`: what the caller owes, and launches by the number of requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import torch
import z3

from properties.proofs import axioms
from properties.proofs.forms import Form
from properties.proofs.invariants import INVARIANTS, Invariant
from properties.proofs.launches import NotJudged, Seen, Symbolic, explanations, record, symbolic
from properties.proofs.world import Limits, Tensor

# name: the sentence that is printed beside a verdict
AXIOMS = {
    "counts": "0 <= num_actual_tokens <= num_padded_tokens, 1 <= num_padded_tokens, 0 <= num_reqs; limits hold",
    "entries": "query_start_loc does not decrease from 0 at its first entry to num_actual_tokens at entry num_reqs",
}
MOST_REQUESTS = 256  # up to which the search is unrolled
APART = 5  # numbers of requests below this are no run: a number of rounds may look like one of requests
# Requests of the calls from which is read off how many rounds an invariant's loop is told to take.
MANY_REQUESTS = tuple(sorted({2**power + more for power in range(9, 21) for more in (-1, 0, 1)}))
ACTUAL, PADDED, REQUESTS = "num_actual_tokens", "num_padded_tokens", "num_reqs"
BUFFERS = ("seq_idx_out", "query_start_out")
# Sizes that are 1, which Triton compiles apart where a kernel lets it.
SPECIALISED: tuple[dict[str, int], ...] = ({}, {ACTUAL: 1}, {ACTUAL: 1, PADDED: 1})
PADDED_ROWS = (4096, 4097, 37)  # of three calls for each number of requests, on both sides of a tile's edge


@dataclass
class RequestsWorld:
    """Symbols of one call with `fewest` to `most` requests; `fixed` sizes are numbers, as Triton compiles 1 apart."""

    fewest: int
    most: int
    fixed: dict[str, int] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    invariant: Invariant | None = None

    def __post_init__(self) -> None:
        integer = z3.IntSort()
        self.R = z3.IntVal(self.fewest) if self.fewest == self.most else z3.Int(REQUESTS)
        self.actual, self.T = (
            z3.IntVal(self.fixed[name]) if name in self.fixed else z3.Int(name) for name in (ACTUAL, PADDED)
        )
        self.rounds = z3.Int("rounds")
        self.entry, self.owner = (z3.Function(name, integer, integer) for name in ("query_start_loc", "owner"))
        outs = [z3.Function(name, integer, integer) for name in BUFFERS]
        tensors = [Tensor("query_start_loc", (self.R + 1,), (1,), self.entry)]
        tensors += [Tensor(name, (self.T,), (1,), out) for name, out in zip(BUFFERS, outs, strict=True)]
        self.tensors = {tensor.name: tensor for tensor in tensors}
        self.axioms: dict[tuple[int, ...], Any] = {}

    def __str__(self) -> str:
        words = [f"{name} = {value}" for name, value in self.fixed.items()]
        if self.invariant is not None:
            return ", ".join([f"{self.fewest} requests or more", *words])
        few = f"{self.fewest} to {self.most}" if self.fewest < self.most else str(self.most)
        return ", ".join([f"{few} requests", *words])

    def wishes(self, row: z3.ArithRef | None) -> list[z3.BoolRef]:
        """What makes a counterexample a case: every entry in order, few rows and requests."""
        most = min(self.most, MOST_REQUESTS)
        in_order = [
            z3.Implies(one < self.R, self.entry(z3.IntVal(one)) <= self.entry(z3.IntVal(one + 1)))
            for one in range(most)
        ]
        return [z3.And(self.R <= most, self.T <= 2**12, *in_order), self.T <= 600, self.R <= 4, self.T <= 12]

    def owns(self, row: z3.ArithRef) -> z3.BoolRef:
        """What the owner of a row is, which there is for every row below the actual ones."""
        owner = self.owner(row)
        is_owner = z3.And(0 <= owner, owner < self.R, self.entry(owner) <= row, row < self.entry(owner + 1))
        return z3.Implies(z3.And(0 <= row, row < self.actual), is_owner)


@axioms.instantiated.register
def _(world: RequestsWorld, entries: Sequence[z3.ArithRef]) -> axioms.Named:
    counts = z3.And(
        world.fewest <= world.R, world.R <= world.most, 0 <= world.actual, world.actual <= world.T, 1 <= world.T,
        world.T <= world.limits.rows,
    )  # fmt: skip  # bounds side by side
    ends = z3.And(world.entry(z3.IntVal(0)) == 0, world.entry(world.R) == world.actual)
    found = [("counts", counts), ("entries", ends)]
    for one in entries:
        inside = z3.And(0 <= world.entry(one), world.entry(one) <= world.actual)
        found.append(("entries", z3.Implies(z3.And(0 <= one, one <= world.R), inside)))
    # Searches compare what they read with the owner's entries; that two reads are in order adds nothing but steps.
    pairs = [*permutations(entries, 2)]
    with_owner = [pair for pair in pairs if any(_is_of_owner(world, one) for one in pair)]
    for one, other in with_owner or pairs:
        in_order = z3.And(0 <= one, one <= other, other <= world.R)
        found.append(("entries", z3.Implies(in_order, world.entry(one) <= world.entry(other))))
    return found


def _is_of_owner(world: RequestsWorld, entry: z3.ArithRef) -> bool:
    """Whether an entry is the first row of an owner, or the one after it."""
    return any(one.decl().eq(world.owner) for one in (entry, *entry.children()))


@axioms.a_batch.register
def _(world: RequestsWorld) -> list[z3.BoolRef]:
    """Several requests where there may be so many, a row of the last one, and padding where there may be such."""
    last = world.R - 1
    found = [fact for _, fact in axioms.all_of(world, [z3.IntVal(0), z3.IntVal(1), last, world.R])]
    found.append(world.R == world.most if world.invariant is None else world.R == 4)
    if world.most > 0 and ACTUAL not in world.fixed:
        found += [world.entry(last) < world.actual, world.entry(z3.IntVal(1)) > 0]
    return [*found, world.actual < world.T] if not world.fixed else found


def calls_of(operator: Callable[..., Any], requests: int, fixed: dict[str, int]) -> list[Seen]:
    """Three calls with so many requests and other numbers of rows."""
    found = []
    for padded in PADDED_ROWS:
        actual = padded - 3 - requests % 5 if requests else 0
        sizes = {REQUESTS: requests, ACTUAL: actual, PADDED: padded, **fixed}
        arguments = {"query_start_loc": torch.empty(requests + 1, dtype=torch.int32), **sizes}
        arguments |= {name: torch.empty(sizes[PADDED] + 5, dtype=torch.int32) for name in BUFFERS}
        free = {name: size for name, size in sizes.items() if name not in fixed}
        found.append(record(operator, arguments, free))
    return found


def unrolled(operator: Callable[..., Any], most: int) -> Iterator[tuple[RequestsWorld, Symbolic]]:
    """Every program that numbers of requests up to `most` lead to.

    Numbers of requests for which the launch is the same, up to sizes among its arguments, share a program.
    """
    met: set[Any] = set()
    for fixed in SPECIALISED:
        calls = [calls_of(operator, requests, fixed) for requests in range(len(fixed) and 1, most + 1)]
        keys = {call[0].launch.bound.key for call in calls}
        if keys <= met:
            continue  # no other code than for other sizes
        met |= keys
        for run in runs(calls):
            world = RequestsWorld(run[0].sizes[REQUESTS], run[-1].sizes[REQUESTS], fixed)
            yield world, _launch(run, world)


def by_induction(operator: Callable[..., Any]) -> Iterator[tuple[RequestsWorld, Symbolic]]:
    """Every program whose loop has an invariant, with the least number of requests that lead to it."""
    met: set[Any] = set()
    for fixed in SPECIALISED:
        calls = [calls_of(operator, requests, fixed) for requests in (*range(len(fixed) and 1, 32), *MANY_REQUESTS)]
        last = calls[-1][0].launch
        if last.kernel not in INVARIANTS:
            raise NotJudged(f"no invariant is known of the loop of {last.kernel}")
        if last.bound.key not in met:
            met.add(last.bound.key)
            invariant = INVARIANTS[last.kernel]
            *_, run = runs(calls, {invariant.rounds, invariant.width})  # fewer requests may have other programs
            world = RequestsWorld(run[0].sizes[REQUESTS], Limits().rows, fixed, invariant=invariant)
            yield world, _launch(run, world)


def _launch(seen: list[Seen], world: RequestsWorld) -> Symbolic:
    symbols = {REQUESTS: world.R, ACTUAL: world.actual, PADDED: world.T}
    rows = {name: symbols[name] for name in (PADDED, ACTUAL) if name not in world.fixed}
    own = {} if world.invariant is None else _of_rounds(seen, world, world.invariant)
    return symbolic(seen, lambda name: Form.of(symbols[name]), rows, own, is_cut=world.invariant is not None)


def _of_rounds(seen: list[Seen], world: RequestsWorld, invariant: Invariant) -> dict[str, Form]:
    """The arguments of which an invariant speaks, as the calls bear out what it says of them. Raises NotJudged."""
    for one in seen:
        scalars, requests = one.launch.scalars, one.sizes[REQUESTS]
        for name in filter(None, (invariant.rounds, invariant.width)):
            if name not in scalars:
                raise NotJudged(f"the kernel has no argument {name}, of which its invariant speaks")
        rounds = scalars[invariant.rounds]
        if invariant.base**rounds < requests:
            raise NotJudged(f"{invariant.rounds} is too small for {requests} requests")
        if not invariant.width or rounds == 0:
            continue
        if scalars[invariant.width] != invariant.base ** (rounds - 1) or scalars[invariant.width] >= requests:
            raise NotJudged(f"{invariant.width} is not what the invariant says for {requests} requests")
    own = {invariant.rounds: Form.of(world.rounds)}
    return own | ({invariant.width: Form.of(span(world.rounds - 1))} if invariant.width else {})


def span(left: z3.ArithRef) -> z3.ArithRef:
    """`base ** left`: between how many requests so many rounds can tell apart."""
    return z3.Function("span", z3.IntSort(), z3.IntSort())(left)


def runs(calls: list[list[Seen]], free: Collection[str] = ()) -> Iterator[list[Seen]]:
    """Longest runs of numbers of requests whose calls have one explanation; the arguments `free` need none."""
    run: list[Seen] = []
    known: dict[str, set[tuple[str, int]]] = {}
    for place, call in enumerate(calls):
        found = {name: explanations(name, call) for name in call[0].launch.scalars if name not in free}
        both = {name: known[name] & words for name, words in found.items() if name in known}
        is_other = call[0].launch.bound.key != run[0].launch.bound.key if run else False
        if run and (is_other or not all(both.values()) or (not free and place <= APART)):
            yield run
            run = []
        known = both if run else found
        run = run + call
    yield run
