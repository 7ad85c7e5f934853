"""The obligations of one kernel at one geometry, each with its verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from properties.cases import Case, Geometry, with_dtype
from properties.proofs import accesses, axioms, conflicts, counterexamples, forward, metadata, requests, taps, wraps
from properties.proofs import operations as _operations  # noqa: F401  # fills MEANINGS
from properties.proofs.claims import Claim
from properties.proofs.launches import NotJudged, Symbolic
from properties.proofs.requests import RequestsWorld
from properties.proofs.solving import Question
from properties.proofs.world import PAGE, TABLE_ROW, Limits, World
from properties.verdict import NOT_JUDGED, PROVED, VIOLATED

RIGHT = "its taps are right, what is computed of them is for tests to judge"
MOST_UNCONFIRMED = 3  # counterexamples of an obligation for which cases are tried: one takes seconds
LEAST_ROWS = 2**16  # a smaller number of rows is no limit that a proof may have, but a fault
Claims = Callable[[Symbolic, Any], Iterator[Claim]]
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
        ("values.", "cache.", "read-only"),
    ),
    Obligation("wraps", "no arithmetic of indices, masks or values wraps", wraps.claims, ("wrapped index", "sizes.")),
)
METADATA = Obligation(
    "metadata",
    "each row's search ends at its owner, padding gets 0, every access lies inside its tensor, nothing wraps",
    metadata.claims,
    ("out-of-bounds", "conflict", "wrapped index", "read-only", "metadata."),
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
    case: Case | None = None
    most_rows: int | None = None  # up to which it is proved, where not for every number of rows within the limits
    variant: str = ""  # of the program that this is about, where it is not the usual one
    at: str = ""  # the place in the source that is violated, or that limits the rows
    unconfirmed: int = 0  # counterexamples that no case confirms
    scope: str = ""  # for how many requests it is proved, where it is about them
    steps: int = 0  # of the solver, for the longest question: the same on every machine


@dataclass(frozen=True)
class Variant:
    """One of the programs that Triton compiles of a kernel at a geometry, as a call that leads to it."""

    world: World | RequestsWorld
    kernel: Symbolic
    configuration: int = 0  # of an autotuned kernel

    def __str__(self) -> str:
        if isinstance(self.world, RequestsWorld):
            return str(self.world)
        words = [f"{name} = {value}" for name, value in self.world.fixed.items()]
        words += [f"{('even', 'odd')[self.world.parity]} numbers of rows"] if self.world.parity is not None else []
        words += ["rows of x apart"] * self.world.rows_apart
        words += ["no residual"] * (not self.world.use_residual) + ["SiLU"] * (self.world.activation is not None)
        words += [f"configuration {self.configuration}"] * (self.configuration > 0)
        return ", ".join(words)


def variants(operator: Operator, geometry: Geometry, configurations: int = 1, is_whole: bool = True) -> list[Variant]:
    """Every program of `fused_sconv` at a geometry: Triton compiles numbers that are 1 apart. Raises NotJudged.

    Unless `is_whole`, those of contiguous rows of `x` and of sizes other than 1 alone.
    """
    found: dict[Any, Variant] = {}
    small_tables: tuple[dict[str, int], ...] = ({}, {"width": 1}, {"width": 1, TABLE_ROW: 1})
    small_pages: tuple[dict[str, int], ...] = ({}, {PAGE: 1}) if geometry.H * geometry.N * geometry.D == 1 else ({},)
    if not is_whole:
        small_tables = small_pages = ({},)
    options = product(range(configurations), (False, True)[: 1 + is_whole], (True, False), (None, "silu", "swish"))
    for configuration, apart, residual, activation in options:
        for rows, table, page in product(({}, {"T": 1})[: 1 + is_whole], small_tables, small_pages):
            world = World(geometry, Limits(), {**rows, **table, **page}, apart, residual, activation)
            try:
                programs = list(_programs(operator, world, configuration))
            except NotJudged as reason:
                if apart and reason.is_refusal:
                    break  # the contract lets a candidate ask for contiguous rows
                raise
            for one in programs:
                found.setdefault((apart, residual, not activation, one.kernel.launch.bound.key), one)
    return list(found.values())


def _programs(operator: Operator, world: World, configuration: int) -> Iterator[Variant]:
    """The program of a call, or two of them where even and odd numbers of rows have one each. Raises NotJudged."""
    try:
        yield Variant(world, forward.launch(operator, world, configuration), configuration)
    except NotJudged as reason:
        if not reason.is_by_size:
            raise
        for parity in (0, 1):
            like = replace(world, parity=parity)
            yield Variant(like, forward.launch(operator, like, configuration), configuration)


def are_renamed(operator: Operator, programs: Sequence[Variant]) -> bool:
    """Whether programs in fp16 are those in bf16 but for the type's name, so that what is proved of those holds."""
    for one in programs:
        if not isinstance(one.world, World) or one.world.geometry.dtype != "fp16":
            return False
        world = replace(one.world, geometry=with_dtype(one.world.geometry, "bf16"))
        other = forward.launch(operator, world, one.configuration)
        if _in_bf16(one.kernel) != _in_bf16(other) or one.kernel.grid != other.grid:
            return False
    return True


def _in_bf16(kernel: Symbolic) -> str:
    """A kernel's body and what its arguments are, in words."""
    return f"{kernel.function.body} {kernel.function.types} {kernel.arguments}".replace("'f16'", "'bf16'")


def prove_metadata(target: str, operator: Operator, most: int) -> Verdict:
    """One verdict for `sconv_seq_metadata`: unrolled up to a number of requests, beyond it by an invariant if known."""
    try:
        verdict = prove_all(target, [Variant(*one) for one in requests.unrolled(operator, most)], METADATA)
    except NotJudged as reason:
        return Verdict(METADATA.name, NOT_JUDGED, reason=str(reason))
    if verdict.what != PROVED:
        return verdict
    try:
        further = prove_all(target, [Variant(*one) for one in requests.by_induction(operator)], METADATA)
    except NotJudged as reason:
        further = Verdict(METADATA.name, NOT_JUDGED, reason=str(reason))
    if further.what == VIOLATED:
        return further
    if further.what == NOT_JUDGED:
        return replace(verdict, scope=f"at most {most} requests; beyond them not judged: {further.reason}")
    scope = f"every number of requests, by the invariant of the loop; up to {most} also unrolled"
    return replace(_sum(verdict, [verdict, further]), scope=scope)


def prove(target: str, variant: Variant, obligation: Obligation, dropped: frozenset[str] = frozenset()) -> Verdict:
    """Proves one obligation of one program; `dropped` axioms are not assumed, which a test does."""
    start = time.monotonic()
    try:
        claims = obligation.claims(variant.kernel, variant.world)
        verdict = _Judging(target, obligation, dropped).all_of(claims, variant.world)
    except NotJudged as reason:
        verdict = Verdict(obligation.name, NOT_JUDGED, reason=str(reason))
    return replace(verdict, seconds=time.monotonic() - start, variant=str(variant))


def prove_all(target: str, programs: Sequence[Variant], obligation: Obligation) -> Verdict:
    """One verdict for all programs of a kernel: the worst one's, with the claims and seconds of all asked.

    The first violated one ends it: a case is what its reader wants, not the same one again of each program. So does
    one with many counterexamples that no case confirms.
    """
    verdicts: list[Verdict] = []
    for one in programs:
        verdicts.append(prove(target, one, obligation))
        if verdicts[-1].what == VIOLATED or verdicts[-1].unconfirmed >= MOST_UNCONFIRMED:
            break
    order = (VIOLATED, NOT_JUDGED, PROVED)
    worst = min(verdicts, key=lambda one: (order.index(one.what), one.most_rows or float("inf")))
    return _sum(worst, verdicts)


def _sum(worst: Verdict, verdicts: Sequence[Verdict]) -> Verdict:
    """One of several verdicts, with the claims and seconds of all."""
    return replace(
        worst,
        claims=sum(one.claims for one in verdicts),
        idle=sum(one.idle for one in verdicts),
        seconds=sum(one.seconds for one in verdicts),
        slowest=max(one.slowest for one in verdicts),
        steps=max(one.steps for one in verdicts),
    )


class _Judging:
    """What has been found of one obligation of one program so far."""

    def __init__(self, target: str, obligation: Obligation, dropped: frozenset[str]) -> None:
        self.target, self.obligation, self.dropped = target, obligation, dropped
        self.verdict = Verdict(obligation.name, PROVED)
        self.happens: dict[tuple[int, ...], bool] = {}
        self.kept: list[Claim] = []  # while a claim lives, the ids of its expressions are its own

    def all_of(self, claims: Iterator[Claim], world: Any) -> Verdict:
        """Asks for each claim until one is violated; one without an answer leaves the obligation not judged."""
        for claim in claims:
            self.ask(claim)
            if self.is_over:
                return self.verdict
        is_idle = self.verdict.claims == self.verdict.idle
        is_vacuous = is_idle or Question(world, ()).find(axioms.a_batch(world)).model is None
        if self.verdict.what == PROVED and is_vacuous:
            self.leave("nothing that was claimed ever happens: it is vacuous")
        return self.verdict

    @property
    def is_over(self) -> bool:
        """Whether nothing that is asked now would be news."""
        return self.verdict.what == VIOLATED or self.verdict.unconfirmed >= MOST_UNCONFIRMED

    def ask(self, claim: Claim) -> None:
        """Asks for one claim; for each of its parts where they do not all hold."""
        found = self.verdict
        if RIGHT in found.reason and claim.is_arithmetic(self.dropped):
            return  # the same again, and faster asked so
        answer = claim.ask(self.dropped)
        slowest, steps = max(found.slowest, answer.seconds), max(found.steps, answer.steps)
        self.verdict = found = replace(found, slowest=slowest, steps=steps)
        if answer.is_proved:
            count = len(claim.parts) or 1
            idle = 0 if self._happens(claim) else count
            self.verdict = replace(found, claims=found.claims + count, idle=found.idle + idle)
        elif claim.parts:
            for part in claim.parts:
                if not self.is_over:
                    self.ask(part)
        elif answer.model is None:
            self.leave(f"whether {claim.what}: {answer.unknown} ({claim.site})")
        elif claim.is_arithmetic(self.dropped):
            self.leave(f"whether {claim.what}: {RIGHT} ({claim.site})")
        elif rows := _most_rows(claim, self.dropped):
            self.verdict = replace(found, claims=found.claims + 1)
            if found.most_rows is None or rows < found.most_rows:
                self.verdict = replace(self.verdict, most_rows=rows, at=str(claim.site))
        elif seen := counterexamples.confirmed(self.target, claim, answer.model, (*self.obligation.seen, *claim.shown)):
            self.verdict = replace(
                found, what=VIOLATED, reason=seen[2], property_name=seen[0], case=seen[1], at=str(claim.site)
            )
        else:
            self.verdict = replace(found, unconfirmed=found.unconfirmed + 1)
            doubt = f"whether {claim.what}: the solver has a counterexample, but no case confirms it"
            self.leave(f"{claim.unless or doubt} ({claim.site})")

    def leave(self, reason: str) -> None:
        """Does not judge the obligation, for the first reason that was met."""
        reason = self.verdict.reason or reason
        self.verdict = replace(self.verdict, what=NOT_JUDGED, reason=reason, most_rows=None, at="")

    def _happens(self, claim: Claim) -> bool:
        key = (claim.condition.get_id(), *map(id, claim.evaluations))
        if key not in self.happens:
            self.kept.append(claim)
            self.happens[key] = claim.can_happen(self.dropped)
        return self.happens[key]


def _most_rows(claim: Claim, dropped: frozenset[str]) -> int:
    """The largest number of rows up to which a claim holds that does not in general, 0 if there is none."""
    if claim.limit is None:
        return 0
    low, high = LEAST_ROWS, claim.world.limits.rows  # proved up to low, not up to high
    if not claim.ask(dropped, claim.limit <= low).is_proved:
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        if claim.ask(dropped, claim.limit <= middle).is_proved:
            low = middle
        else:
            high = middle
    return low
