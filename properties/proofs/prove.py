"""The obligations of one kernel at one geometry, each with its verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from properties.cases import Forward, Geometry
from properties.proofs import accesses, axioms, conflicts, counterexamples, operations, taps, wraps  # noqa: F401  # fills MEANINGS
from properties.proofs.claims import Claim
from properties.proofs.launches import NotJudged, Symbolic, symbolic
from properties.proofs.world import TABLE_ROW, World
from properties.verdict import NOT_JUDGED, VIOLATED

PROVED = "proved"
LEAST_ROWS = 2**16  # a smaller number of rows is no limit that a proof may have, but a fault
Claims = Callable[[Symbolic, World], Iterator[Claim]]
Operator = Callable[..., Any]


@dataclass(frozen=True)
class Obligation:
    """What is to be shown, in a sentence, and its claims."""

    name: str
    sentence: str
    claims: Claims
    seen: tuple[str, ...]  # words of the violations of the machine that confirm a counterexample


OBLIGATIONS = (
    Obligation("accesses", "every load and store lies inside its tensor", accesses.claims, ("out-of-bounds",)),
    Obligation(
        "conflicts",
        "no two lanes meet, and each element of out is stored once",
        conflicts.claims,
        ("conflict", "read after write", "duplicate lanes", "stored twice", "never written"),
    ),
    Obligation(
        "taps",
        "each value stored is the contract's, at its place, and rows without a slot store none",
        taps.claims,
        ("values.", "cache."),
    ),
    Obligation("wraps", "no index arithmetic wraps", wraps.claims, ("wrapped index", "sizes.")),
)


@dataclass(frozen=True)
class Verdict:
    """What was found of one obligation."""

    obligation: str
    what: str
    claims: int = 0  # that were proved
    idle: int = 0  # of these, about accesses that never happen
    seconds: float = 0.0
    slowest: float = 0.0  # seconds of one question
    reason: str = ""
    property_name: str = ""  # that the machine saw violated
    case: Forward | None = None
    most_rows: int | None = None  # up to which it is proved, where not for every number of rows within the limits
    variant: str = ""  # of the program that this is about, where it is not the usual one
    at: str = ""  # the place in the source that is violated, or that limits the rows


@dataclass(frozen=True)
class Variant:
    """One of the programs that Triton compiles of a kernel at a geometry, as a call that leads to it."""

    world: World
    use_residual: bool = True
    configuration: int = 0  # of an autotuned kernel

    def __str__(self) -> str:
        words = [f"{name} = {value}" for name, value in self.world.fixed.items()]
        words += ["rows of x apart"] * self.world.rows_apart + ["no residual"] * (not self.use_residual)
        words += [f"configuration {self.configuration}"] * (self.configuration > 0)
        return ", ".join(words)


def variants(operator: Operator, geometry: Geometry, configurations: int = 1) -> list[Variant]:
    """Every program that the sizes of a call lead to: Triton compiles numbers that are 1 apart. Raises NotJudged."""
    found: dict[Any, Variant] = {}
    small_tables: tuple[dict[str, int], ...] = ({}, {"width": 1}, {"width": 1, TABLE_ROW: 1})
    for configuration, apart, residual in product(range(configurations), (False, True), (True, False)):
        for rows, table in product(({}, {"T": 1}), small_tables):
            world = World(geometry, fixed={**rows, **table}, rows_apart=apart)
            try:
                kernel = symbolic(operator, world, residual, configuration)
            except NotJudged as reason:
                if apart and reason.is_refusal:
                    break  # the contract lets a candidate ask for contiguous rows
                raise
            key = (apart, kernel.launch.bound.key)
            found.setdefault(key, Variant(world, residual, configuration))
    return list(found.values())


def prove(
    target: str, operator: Operator, variant: Variant, obligation: Obligation, dropped: frozenset[str] = frozenset()
) -> Verdict:
    """Proves one obligation of one program; `dropped` axioms are not assumed, which a test does."""
    start = time.monotonic()
    try:
        kernel = symbolic(operator, variant.world, variant.use_residual, variant.configuration)
        verdict = _judge(target, claims_of(obligation, kernel, variant), obligation, variant, dropped)
    except NotJudged as reason:
        verdict = Verdict(obligation.name, NOT_JUDGED, reason=str(reason))
    return replace(verdict, seconds=time.monotonic() - start, variant=str(variant))


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict for all programs of an obligation: the worst one's, with the claims and seconds of all."""
    order = (VIOLATED, NOT_JUDGED, PROVED)
    worst = min(verdicts, key=lambda one: (order.index(one.what), one.most_rows or float("inf")))
    return replace(
        worst,
        claims=sum(one.claims for one in verdicts),
        idle=sum(one.idle for one in verdicts),
        seconds=sum(one.seconds for one in verdicts),
        slowest=max(one.slowest for one in verdicts),
    )


def claims_of(obligation: Obligation, kernel: Symbolic, variant: Variant) -> Iterator[Claim]:
    """What an obligation claims of one program."""
    if obligation.claims is taps.claims:
        return taps.claims(kernel, variant.world, variant.use_residual)
    return obligation.claims(kernel, variant.world)


def _judge(
    target: str, claims: Iterator[Claim], obligation: Obligation, variant: Variant, dropped: frozenset[str]
) -> Verdict:
    """Asks for each claim until one is violated; one without an answer leaves the obligation not judged."""
    proved = idle = 0
    name = obligation.name
    slowest, most_rows, limited_at, reason = 0.0, None, "", ""
    kept: list[Claim] = []
    happens: dict[tuple[int, ...], bool] = {}
    for claim in claims:
        if "taps are right" in reason and claim.is_arithmetic(dropped):
            continue  # the same again, and faster asked so
        answer, seconds = claim.ask(dropped)
        slowest = max(slowest, seconds)
        if answer.is_proved:
            proved += 1
            key = (claim.condition.get_id(), *map(id, claim.evaluations))
            if key not in happens:
                happens[key] = claim.can_happen(dropped)
            idle += not happens[key]
            kept.append(claim)  # while it lives its ids are its own
            continue
        if answer.unknown:
            reason = reason or f"{claim.what}: {answer.unknown} ({claim.site})"
            continue
        if claim.is_arithmetic(dropped):
            reason = reason or f"{claim.what}: its taps are right, but not what is computed of them ({claim.site})"
            continue
        if rows := _most_rows(claim, dropped):
            proved += 1
            if most_rows is None or rows < most_rows:
                most_rows, limited_at = rows, str(claim.site)
            continue
        assert answer.model is not None
        if found := counterexamples.confirmed(target, claim, answer.model, variant.use_residual, obligation.seen):
            return Verdict(
                name, VIOLATED, proved, idle, slowest=slowest, reason=claim.what,
                property_name=found[0], case=found[1], at=str(claim.site),
            )  # fmt: skip  # one verdict
        reason = reason or f"{claim.what}: no case confirms the counterexample ({claim.site})"
    if reason:
        return Verdict(name, NOT_JUDGED, proved, idle, slowest=slowest, reason=reason)
    if proved == idle or not axioms.can_be_met(variant.world):
        return Verdict(name, NOT_JUDGED, proved, idle, reason="nothing that was claimed ever happens: it is vacuous")
    return Verdict(name, PROVED, proved, idle, slowest=slowest, most_rows=most_rows, at=limited_at)


def _most_rows(claim: Claim, dropped: frozenset[str]) -> int:
    """The largest number of rows up to which a claim holds that does not in general, 0 if there is none."""
    if claim.limit is None:
        return 0
    low, high = LEAST_ROWS, claim.world.limits.rows  # proved up to low, not up to high
    if not claim.ask(dropped, claim.limit <= low)[0].is_proved:
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        if claim.ask(dropped, claim.limit <= middle)[0].is_proved:
            low = middle
        else:
            high = middle
    return low
