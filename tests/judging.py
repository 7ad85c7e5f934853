"""How a test judges one invariant: over a strategy, with one clean failure."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, ClassVar, NoReturn

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from hypothesis.strategies import SearchStrategy, sampled_from

from properties import reducing, tally
from properties.engines.base import Ops
from properties.invariants.history import Living
from properties.lives import Deed, Life
from properties.smaller import KINDS, reduced
from properties.verdict import NotJudged, Violation
from tests.keys import ELSEWHERE, FILED, FOUND, SEED
from tests.reproducing import how_to_see_it_again
from tests.stored import Stored

DTYPES = ("bf16", "fp16", "fp32")
LIFE = 4  # cases that a life counts for: it is a dozen forwards
RULES = 12  # of a life at most
CUT = "\nNot shrunk to the end: the time for that was over, so a smaller case may fail as well."
PINNED = "\nA pinned case, which is not shrunk."
NOT_AGAIN = "\n{} in the same case: the candidate keeps something between calls, or races."
Machine = Callable[..., RuleBasedStateMachine]


def judge(
    request: pytest.FixtureRequest,
    ops: Ops,
    invariant: Callable[[Any, Any], None],
    cases: SearchStrategy[Any] | Machine,
    *pinned: Any,
    share: float = 1.0,
) -> None:
    """Calls `invariant(ops, case)` for as many drawn cases as the profile says, then for every pinned one.

    A test that is not one of three dtypes draws three times as many; one of costly cases only a `share` of them. A
    state machine in place of a strategy lives a quarter as many lives, judged step by step: each is a dozen forwards.
    Autotuned kernels run in a configuration that is drawn as well; pinned cases are judged in all of them, in one
    shard of a run.
    """
    __tracebackhide__ = True
    entry: tally.Property = invariant.entry  # type: ignore[attr-defined]  # set by tally.invariant
    if excuse := entry.excuse(ops):
        leave(entry, excuse)

    if pinned and (elsewhere := request.node.stash.get(ELSEWHERE, None)):
        tally.leave_to(entry.name, elsewhere)
        pinned = ()
    patience, begin = Patience(), request.node.stash.get(SEED, None)
    seeded = seed(begin) if begin is not None else lambda test: test

    def every_case(case: Any, choice: int) -> None:
        __tracebackhide__ = True
        patience.run(invariant, ops.configured(choice), case)

    # Hypothesis files failures under the function's source and digest: one digest per property, dtype and candidate.
    digest = f"{request.node.name} of {request.node.stash.get(FILED, ops.candidate.target)}".encode()
    every_case._hypothesis_internal_add_digest = digest  # type: ignore[attr-defined]  # as its plugin
    count = round(share * settings().max_examples * (1 if "dtype" in request.fixturenames else len(DTYPES)))
    choices = range(ops.configurations)
    test: Callable[[], None]
    if isinstance(cases, SearchStrategy):
        database = settings().database
        run = settings(max_examples=count, database=Stored(database) if database else None)
        test = run(seeded(given(cases, sampled_from(choices))(every_case)))  # a seed takes the database away
    else:
        test = partial(live, cases, invariant, ops, patience, digest, -(-count // LIFE), seeded)
    found: Exception | None = None
    again = ""
    try:
        test()
        # last, since Hypothesis would tell a failing one as it is, and pinned cases are large
        again = PINNED
        for case, choice in product(pinned, choices):
            patience.run(invariant, ops.configured(choice), case)
    except (Violation, NotJudged) as error:
        found = error
        if patience.is_of_fields:
            found, again = patience.shrunk(invariant, ops)
    except OutOfPatience:
        found, again = patience.shrunk(invariant, ops) if patience.is_of_fields else (patience.smallest, CUT)
    except Flaky:
        found = patience.smallest
        if found is None:
            raise  # not the candidate's doing
        again = patience.not_again
    if found is not None and not isinstance(found, (Violation, NotJudged)):
        raise found
    if isinstance(found, Violation):
        fail(request, ops, found, again)
    if found is not None:
        pytest.fail(f"not judged [{entry.name}]: {found}\n{how_to_see_it_again(request, ops, None)}", pytrace=False)


def fail(request: pytest.FixtureRequest, ops: Ops, found: Violation, more: str) -> NoReturn:
    """Fails a test for a violation, in words and, for the report, as data."""
    __tracebackhide__ = True
    found.explain()
    request.node.stash[FOUND] = found  # for what is told of the run
    pytest.fail(f"{found}{more}\n{how_to_see_it_again(request, ops, found)}", pytrace=False)


def live(
    machine: Machine,
    invariant: Callable[[Any, Any], None],
    ops: Ops,
    patience: Patience,
    digest: bytes,
    count: int,
    seeded: Callable[[Any], Any],
) -> None:
    """Runs a state machine over so many lives; under `digest` Hypothesis files their failures, then reduced."""
    __tracebackhide__ = True
    entry: tally.Property = invariant.entry  # type: ignore[attr-defined]  # set by tally.invariant

    def begin() -> RuleBasedStateMachine:
        return machine(lambda case: StepByStep(Living(ops, entry.name, case), entry, patience))

    def failing(case: Life) -> Any:
        try:
            patience.run(invariant, ops, case)
        except Violation as violation:
            return violation.case
        return None

    begin._hypothesis_internal_add_digest = digest  # type: ignore[attr-defined]  # as its pytest plugin does
    phases = [phase for phase in settings().phases if phase is not Phase.shrink]
    each = -(-count // ops.configurations)
    steps = settings(max_examples=each, stateful_step_count=RULES, phases=phases)
    for choice in range(ops.configurations):
        ops.configured(choice)
        try:
            run_state_machine_as_test(seeded(begin), settings=steps)
        except Violation as violation:
            reducing.reduced(violation.case, failing)  # type: ignore[arg-type]  # the invariant is given lives
            raise patience.smallest from None  # type: ignore[misc]  # there is one by now


class StepByStep:
    """A life under judgement, counted as whole cases are."""

    def __init__(self, living: Living, entry: tally.Property, patience: Patience) -> None:
        self.living, self.entry, self.patience, self.holds = living, entry, patience, True

    def do(self, step: Deed) -> None:
        """Judges the next step; `patience` is told what it violates, or that the life holds up to it."""
        __tracebackhide__ = True
        self.holds = False
        try:
            with tally.counting(self.entry, self.living.ops, self.living.so_far):
                self.living.do(step)
        except Violation as violation:
            self.patience.keep(violation, violation.case)
            raise
        self.patience.hold(self.living.so_far)
        self.holds = True

    def end(self) -> None:
        """Counts the life, if it held to its end."""
        if self.holds:
            tally.count_case(self.entry, self.living.so_far)


class OutOfPatience(BaseException):
    """Ends a test whose time for shrinking is over; Hypothesis lets it pass, and has stored its smallest case."""


class Patience:
    """Bounds the time spent on shrinking: the first failures of a process get the most.

    The time is the processor's, the compiler's processes included, so that others on the machine make no case larger.
    A case that `properties.smaller` makes smaller is left to that; any other is shrunk by Hypothesis.
    """

    seconds = 6.0  # for the first failing test of a process, half of it for the second, a third for the next
    least = 1.0
    longest = 10  # times as long at most by the clock on the wall, for what waits or is starved
    failures = 0  # of this process, over all tests
    known: ClassVar[list[Any]] = []  # the smallest cases of these

    def __init__(self) -> None:
        self.ends: tuple[float, float] | None = None  # by the processor and by the clock
        self.smallest: Exception | None = None
        self.case: Any = None  # of the smallest
        self.has_held = False  # in that very case
        self.choice = 0  # of the configurations of autotuned kernels

    @property
    def is_of_fields(self) -> bool:
        """Whether a violation is known whose case is made smaller field by field."""
        return isinstance(self.smallest, Violation) and isinstance(self.case, KINDS)

    def run(self, invariant: Callable[[Any, Any], None], ops: Ops, case: Any) -> None:
        """Judges a case, or ends the test once a failure is known and its time is over, or Hypothesis has no part."""
        __tracebackhide__ = True
        if self.ends is not None and (self.is_of_fields or self.is_over(ops)):
            raise OutOfPatience
        try:
            invariant(ops, case)
        except Exception as error:  # also the judge's own failures: shrinking them may take minutes
            self.keep(error, case, ops.tuned.choice)
            raise
        self.hold(case)

    def is_over(self, ops: Ops) -> bool:
        """Whether the time for shrinking is over, or every case would fail on what is left of a device."""
        assert self.ends is not None
        return any(now > end for now, end in zip(self.now(), self.ends, strict=True)) or ops.engine.is_lost()

    def shrunk(self, invariant: Callable[[Any, Any], None], ops: Ops) -> tuple[Exception | None, str]:
        """The violation of the smallest case found field by field, and what is to be said of that beside."""

        entry: tally.Property = invariant.entry  # type: ignore[attr-defined]  # set by tally.invariant

        def fails(case: Any) -> bool:
            if self.is_over(ops):
                raise OutOfPatience
            with tally.trying(entry.name):
                try:
                    invariant(ops.configured(self.choice), case)
                except Violation as error:
                    self.smallest, self.case = error, case
                    return True
                except Exception:  # of a case that the property does not take, or cannot judge
                    return False
            self.hold(case)
            return False

        again = ""
        try:
            if not fails(self.case):
                return self.smallest, self.not_again
            # a case of sizes is of one tensor that is far; another's would show another fault
            smallest = reduced(self.case, fails, () if entry.group == "sizes" else Patience.known)
            again = "" if fails(smallest) else self.not_again
        except OutOfPatience:
            again = CUT
        Patience.known.append(self.case)
        return self.smallest, again

    def keep(self, error: Exception, case: Any, choice: int = 0) -> None:
        """Keeps a failure if its case is the shortest, and lets the time for shrinking begin with the first."""
        if self.ends is None:
            Patience.failures += 1
            spent, clock = self.now()
            seconds = max(self.least, self.seconds / Patience.failures)
            self.ends = spent + seconds, clock + self.longest * seconds
        if self.smallest is None or len(repr(case)) <= len(repr(self.case)):
            self.has_held = self.has_held and case == self.case
            self.smallest, self.case, self.choice = error, case, choice

    def hold(self, case: Any) -> None:
        """Notes whether it is the smallest failing case that now holds."""
        self.has_held |= self.smallest is not None and case == self.case

    @property
    def not_again(self) -> str:
        """What was seen of the smallest case, judged more than once, where that was found to differ."""
        return NOT_AGAIN.format("Not seen again" if self.has_held else "Seen otherwise")

    @staticmethod
    def now() -> tuple[float, float]:
        """Seconds of the processor that this process and its ended children have used, and those of the clock."""
        return sum(os.times()[:4]), time.monotonic()


def dtype_or_leave(ops: Ops, dtype: str) -> str:
    """The dtype, unless the engine cannot judge it: then the test is skipped with the reason."""
    if why := ops.engine.unjudged_dtypes.get(dtype):
        pytest.skip(f"{dtype} not judged: {why}")
    return dtype


def leave(entry: tally.Property, excuse: str) -> NoReturn:
    """Skips a test, and counts its property as not judged for a reason that fails no run."""
    count = tally.COUNTS.setdefault(entry.name, tally.Count())
    count.reasons.add(excuse)
    count.excused = True
    pytest.skip(f"not judged [{entry.name}]: {excuse}")
