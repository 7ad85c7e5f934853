"""Claims put to the solver: proved, or a model that breaks them, or no answer within its steps."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import z3

from properties.proofs import axioms
from properties.proofs.evaluate import Evaluation
from properties.proofs.world import AnyWorld

# Steps of the solver, not seconds: the same answer on a loaded machine. Two million take about a second.
MOST_STEPS = 10_000_000  # of one question; most take fewer than 100,000
FIRST_STEPS = 2_000_000  # with few axioms; where that is too little, all of them are tried

# Programs of a kernel differ by little: most ask where they load and store in the same words. z3 keeps equal
# expressions once, so while they live, equal ids are equal questions.
_asked: dict[tuple[int, ...], tuple[list[z3.BoolRef], Answer]] = {}
MOST_KEPT = 4096  # questions, of some hundred kilobytes at most


@dataclass
class Question:
    """A claim under a condition, with everything that may be assumed; `dropped` axioms are left out."""

    world: AnyWorld
    evaluations: Sequence[Evaluation]
    dropped: frozenset[str] = frozenset()
    rows: list[z3.ArithRef] = field(default_factory=list)  # beyond those whose metadata the kernel loads

    def assumptions(self) -> list[z3.BoolRef]:
        """The axioms at the rows concerned, and what holds of programs, lanes and terms."""
        rows = {row.get_id(): row for one in self.evaluations for row in one.rows.values()}
        rows.update({row.get_id(): row for row in self.rows})
        found = [fact for name, fact in axioms.all_of(self.world, rows.values()) if name not in self.dropped]
        for one in self.evaluations:
            found += one.facts
            found += one.floats
            found += [fact for name, fact in one.owed if name not in self.dropped]
        return found

    def ask(self, condition: z3.BoolRef, claim: z3.BoolRef) -> Answer:
        """Whether the claim follows from the condition."""
        return self.find([condition, z3.Not(claim)])

    def find(
        self, wanted: Iterable[z3.BoolRef], small: Sequence[z3.BoolRef] = (), most_steps: int = MOST_STEPS
    ) -> Answer:
        """A model of all that is wanted, a `small` one if there is such, or the proof that there is none."""
        whole = [z3.And([*self.assumptions(), *wanted]), *small]
        key = (most_steps, *(one.get_id() for one in whole))
        if key not in _asked:
            if len(_asked) >= MOST_KEPT:
                _asked.clear()
            _asked[key] = (whole, _answer(whole, most_steps))
        return _asked[key][1]


def _answer(whole: list[z3.BoolRef], most_steps: int) -> Answer:
    """A model of the first, with as many of the others as it can have."""
    # in a context of its own the answer does not depend on what was asked before
    context = z3.Context()
    solver = z3.SimpleSolver(ctx=context)
    solver.set(rlimit=most_steps, random_seed=0)
    wanted, *wishes = (one.translate(context) for one in whole)
    solver.add(wanted)
    start = time.monotonic()
    result = solver.check()
    model = solver.model() if result == z3.sat else None
    if model is not None:
        kept: list[z3.BoolRef] = []
        for wish in wishes:
            if solver.check(*kept, wish) == z3.sat:
                model = solver.model()
                kept.append(wish)
    spent = time.monotonic() - start, solver.statistics().get_key_value("rlimit count")
    if result == z3.unknown:
        unknown = f"no answer in {most_steps:,} steps of the solver ({solver.reason_unknown()})"
        return Answer(False, None, unknown, *spent)
    return Answer(result == z3.unsat, None if model is None else model.translate(z3.main_ctx()), "", *spent)


@dataclass(frozen=True)
class Answer:
    """What the solver said; `unknown` is why it said nothing."""

    is_proved: bool
    model: z3.ModelRef | None = None
    unknown: str = ""
    seconds: float = 0.0
    steps: int = 0
