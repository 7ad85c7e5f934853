"""A claim of an obligation: what must follow, under which condition, about which row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import z3

from properties.proofs.axioms import AXIOMS
from properties.proofs.evaluate import Evaluation, Site
from properties.proofs.solving import FIRST_S, Answer, Question
from properties.proofs.world import World

EVERY = frozenset(AXIOMS)


@dataclass
class Claim:
    """`claim` follows from `condition` for every program and lane of the evaluations."""

    what: str
    world: World
    evaluations: Sequence[Evaluation]
    condition: z3.BoolRef
    claim: z3.BoolRef
    site: Site | None = None
    row: z3.ArithRef | None = None  # that a counterexample is about
    more_rows: Sequence[z3.ArithRef] = ()  # that axioms are needed for
    far: str = ""  # a stride whose product wraps
    limit: z3.ArithRef | None = None  # a size below which the claim may hold where it does not in general
    facts: Sequence[z3.BoolRef] = ()
    weaker: z3.BoolRef | None = None  # where this holds, the claim fails by the arithmetic around it alone
    parts: Sequence[Claim] = ()  # that it says together, to be asked one by one where it fails
    uses: frozenset[str] = EVERY  # axioms that should do; fewer make a shorter search, and all are tried after them

    def question(self, dropped: frozenset[str]) -> Question:
        """The question with the axioms that are assumed."""
        rows = [*self.more_rows, *([] if self.row is None else [self.row])]
        return Question(self.world, self.evaluations, dropped, rows=rows)

    def is_arithmetic(self, dropped: frozenset[str] = frozenset()) -> bool:
        """Whether it fails by floating-point arithmetic alone, with every operand right."""
        return self.weaker is not None and replace(self, claim=self.weaker, weaker=None).ask(dropped)[0].is_proved

    def ask(self, dropped: frozenset[str] = frozenset(), *also: z3.BoolRef) -> tuple[Answer, float]:
        """What the solver says of it, a small counterexample if there is one, and the seconds it took."""
        broken = [self.condition, *self.facts, *also, z3.Not(self.claim)]
        seconds = 0.0
        if self.uses < EVERY:
            question = self.question(dropped | (EVERY - self.uses))
            answer = question.find(broken, timeout_s=FIRST_S)
            if answer.is_proved:
                return answer, question.seconds
            seconds = question.seconds
        question = self.question(dropped)
        answer = question.find(broken, self._small())
        return answer, seconds + question.seconds

    def can_happen(self, dropped: frozenset[str] = frozenset()) -> bool:
        """Whether anything satisfies the condition at all: a claim about nothing shows nothing."""
        return self.question(dropped).find([self.condition, *self.facts]).model is not None

    def _small(self) -> list[z3.BoolRef]:
        """What makes a counterexample readable; the first ones matter most."""
        world = self.world
        wishes = [world.T <= 40, world.R <= 4]
        if self.row is not None:
            wishes += [world.position(self.row) <= 4 * world.geometry.N + world.geometry.W]
        return [*wishes, world.T <= 12]


def together(parts: list[Claim]) -> Claim:
    """One claim for several with the same condition: one question instead of many."""
    claim = z3.And([one.claim for one in parts])
    facts = [fact for one in parts for fact in one.facts]
    return replace(parts[0], what=f"{len(parts)} claims", claim=claim, facts=facts, limit=None, parts=parts)
