"""A claim of an obligation: what must follow, under which condition, about which row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import z3

from properties.proofs.axioms import AXIOMS
from properties.proofs.evaluate import Evaluation, Site
from properties.proofs.solving import FIRST_STEPS, Answer, Question
from properties.proofs.world import AnyWorld

EVERY = frozenset(AXIOMS)


@dataclass
class Claim:
    """`claim` follows from `condition` for every program and lane of the evaluations."""

    what: str
    world: AnyWorld
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
    tensor: str = ""  # whose elements it is about, where it is about values
    shown: tuple[str, ...] = ()  # words of violations that confirm it beside those of its obligation
    unless: str = ""  # what to say where it fails and no case confirms that: it presumes what others judge
    uses: frozenset[str] = EVERY  # axioms that should do; fewer make a shorter search, and all are tried after them

    def question(self, dropped: frozenset[str]) -> Question:
        """The question with the axioms that are assumed."""
        rows = [*self.more_rows, *([] if self.row is None else [self.row])]
        return Question(self.world, self.evaluations, dropped, rows=rows)

    def is_arithmetic(self, dropped: frozenset[str] = frozenset()) -> bool:
        """Whether it fails by floating-point arithmetic alone, with every operand right."""
        return self.weaker is not None and replace(self, claim=self.weaker, weaker=None).ask(dropped).is_proved

    def ask(self, dropped: frozenset[str] = frozenset(), *also: z3.BoolRef) -> Answer:
        """What the solver says of it, with a small counterexample if there is one."""
        broken = [self.condition, *self.facts, *also, z3.Not(self.claim)]
        if self.uses < EVERY:
            answer = self.question(dropped | (EVERY - self.uses)).find(broken, most_steps=FIRST_STEPS)
            if answer.is_proved:
                return answer
        return self.question(dropped).find(broken, self.world.wishes(self.row))

    def can_happen(self, dropped: frozenset[str] = frozenset()) -> bool:
        """Whether anything satisfies the condition at all: a claim about nothing shows nothing."""
        return self.question(dropped).find([self.condition, *self.facts]).model is not None


def together(parts: list[Claim]) -> Claim:
    """One claim for several with the same condition: one question instead of many."""
    claim = z3.And([one.claim for one in parts])
    facts = [fact for one in parts for fact in one.facts]
    return replace(parts[0], what="no arithmetic of an access wraps", claim=claim, facts=facts, limit=None, parts=parts)
