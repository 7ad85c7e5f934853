"""The obligations of one kernel at one geometry, each with its verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from properties.cases import Forward
from properties.proofs import accesses, conflicts, counterexamples, operations, taps, wraps  # noqa: F401  # fills MEANINGS
from properties.proofs.claims import Claim
from properties.proofs.launches import NotJudged, Symbolic, symbolic
from properties.proofs.world import World
from properties.verdict import NOT_JUDGED, VIOLATED

PROVED = "proved"
Claims = Callable[[Symbolic, World], Iterator[Claim]]


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
    at: str = ""  # the place in the source that is violated, or that limits the rows


def prove(
    target: str,
    operator: Callable[..., Any],
    world: World,
    obligation: Obligation,
    use_residual: bool = True,
    dropped: frozenset[str] = frozenset(),
) -> Verdict:
    """Proves one obligation; `dropped` axioms are not assumed, which a test does."""
    start = time.monotonic()
    try:
        kernel = symbolic(operator, world, use_residual)
        found = _claims(obligation, kernel, world, use_residual)
        verdict = _judge(target, found, obligation, use_residual, dropped)
    except NotJudged as reason:
        verdict = Verdict(obligation.name, NOT_JUDGED, reason=str(reason))
    return replace(verdict, seconds=time.monotonic() - start)


def _claims(obligation: Obligation, kernel: Symbolic, world: World, use_residual: bool) -> Iterator[Claim]:
    if obligation.claims is taps.claims:
        return taps.claims(kernel, world, use_residual)
    return obligation.claims(kernel, world)


def _judge(
    target: str, claims: Iterator[Claim], obligation: Obligation, use_residual: bool, dropped: frozenset[str]
) -> Verdict:
    """Asks for each claim until one is violated; one without an answer leaves the obligation not judged."""
    proved = idle = 0
    name = obligation.name
    slowest, most_rows, limited_at, reason = 0.0, None, "", ""
    kept: list[Claim] = []
    happens: dict[tuple[int, ...], bool] = {}
    for claim in claims:
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
        if found := counterexamples.confirmed(target, claim, answer.model, use_residual, obligation.seen):
            return Verdict(
                name, VIOLATED, proved, idle, slowest=slowest, reason=claim.what,
                property_name=found[0], case=found[1], at=str(claim.site),
            )  # fmt: skip  # one verdict
        reason = reason or f"{claim.what}: no case confirms the counterexample ({claim.site})"
    if reason:
        return Verdict(name, NOT_JUDGED, proved, idle, slowest=slowest, reason=reason)
    if proved == idle:
        return Verdict(name, NOT_JUDGED, proved, idle, reason="nothing that was claimed ever happens")
    return Verdict(name, PROVED, proved, idle, slowest=slowest, most_rows=most_rows, at=limited_at)


def _most_rows(claim: Claim, dropped: frozenset[str]) -> int:
    """The largest number of rows up to which a claim holds that does not in general, 0 if there is none."""
    if claim.limit is None:
        return 0
    low, high = 0, claim.world.limits.rows  # proved up to low, not up to high
    while high - low > 1:
        middle = (low + high) // 2
        if claim.ask(dropped, claim.limit <= middle)[0].is_proved:
            low = middle
        else:
            high = middle
    return low
