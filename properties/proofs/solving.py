"""Claims put to the solver: proved, or a model that breaks them, or no answer in time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import z3

from properties.proofs import axioms
from properties.proofs.evaluate import Evaluation
from properties.proofs.world import World

TIMEOUT_S = 30  # of one question; they take well below a second, and machines are loaded
FIRST_S = 10  # with few axioms; where that is too little, all of them are tried


@dataclass
class Question:
    """A claim under a condition, with everything that may be assumed; `dropped` axioms are left out."""

    world: World
    evaluations: Sequence[Evaluation]
    dropped: frozenset[str] = frozenset()
    seconds: float = 0.0
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
        self, wanted: Iterable[z3.BoolRef], small: Sequence[z3.BoolRef] = (), timeout_s: int = TIMEOUT_S
    ) -> Answer:
        """A model of all that is wanted, a `small` one if there is such, or the proof that there is none."""
        solver = z3.Solver()
        solver.set("timeout", timeout_s * 1000)
        solver.add(*self.assumptions(), *wanted)
        start = time.monotonic()
        result = solver.check()
        model = solver.model() if result == z3.sat else None
        if model is not None and small:
            for count in range(len(small), 0, -1):
                if solver.check(*small[:count]) == z3.sat:
                    model = solver.model()
                    break
        self.seconds += time.monotonic() - start
        if result == z3.unknown:
            return Answer(False, None, f"no answer in {timeout_s} s ({solver.reason_unknown()})")
        return Answer(result == z3.unsat, model)


@dataclass(frozen=True)
class Answer:
    """What the solver said; `unknown` is why it said nothing."""

    is_proved: bool
    model: z3.ModelRef | None = None
    unknown: str = ""
