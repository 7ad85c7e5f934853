"""What is proved for every batch of a geometry, as far as a proof can be made of the candidate."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from properties import tally
from properties.proofs import geometries
from properties.verdict import NOT_JUDGED, PROVED, VIOLATED, NotJudged, Violation

if TYPE_CHECKING:  # z3 may not be installed
    from properties.proofs.prove import Verdict

FEW_REQUESTS = 64  # up to which the search is unrolled where time is short


def _registered(name: str, sentence: str, operator: str = "fused_sconv") -> tally.Property:
    entry = tally.Property(f"proof.{name}", "proof", sentence, operator, frozenset(), needs_hazards=True)
    return tally.CATALOGUE.setdefault(entry.name, entry)


accesses = _registered("accesses", "For every batch of a geometry, every load and store lies inside its tensor.")
conflicts = _registered(
    "conflicts", "For every batch of a geometry, no two lanes meet, and each element of `out` is stored once."
)
taps = _registered(
    "taps", "For every batch of a geometry, each value stored is the contract's expression, at the contract's place."
)
wraps = _registered("wraps", "For every batch of a geometry, up to a number of rows that is told, no index wraps.")
metadata = _registered(
    "metadata",
    "For every `query_start_loc` each row gets its owner; nothing else is touched.",
    "sconv_seq_metadata",
)


@dataclass
class Outcome:
    """What was found of an obligation at all its places: programs proved, how far that goes, and why others are not."""

    programs: int = 0
    least_rows: tuple[int, str] | None = None  # up to which no index wraps, and the place with the fewest
    scopes: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)  # and the first place of each
    violated: Verdict | None = None

    def add(self, verdict: Verdict, programs: int, place: str) -> None:
        """Adds the verdict on the programs at one place."""
        if verdict.what == PROVED:
            self.programs += programs
        elif verdict.what == VIOLATED:
            self.violated = verdict
        elif verdict.what == NOT_JUDGED:
            self.reasons.setdefault(verdict.reason, place)
        if verdict.most_rows is not None:
            self.least_rows = min(self.least_rows or (verdict.most_rows, place), (verdict.most_rows, place))
        if verdict.scope:
            self.scopes.add(f"for {verdict.scope}")

    @property
    def notes(self) -> set[str]:
        """How far the proofs go."""
        rows = {f"for T <= {self.least_rows[0]:,} at {self.least_rows[1]}"} if self.least_rows else set()
        return self.scopes | rows

    @property
    def why_not(self) -> str:
        """Why it is not proved at every place, in one line; empty where it is."""
        return "; ".join(f"{reason}{f', at {place}' * bool(place)}" for reason, place in self.reasons.items())


def judge(ops: Any, entry: tally.Property, dtype: str, is_whole: bool) -> Outcome:
    """Proves an obligation at the geometries of a dtype; `is_whole`: at all, and every program that sizes lead to."""
    found = Outcome()
    if importlib.util.find_spec("z3") is None:
        found.reasons["z3-solver is not installed"] = ""
        return found
    from properties.proofs import launches, prove, requests

    operator, target = ops.candidate.operators[entry.operator], ops.candidate.target
    name = entry.name.partition(".")[2]
    if name == prove.METADATA.name:
        found.add(prove.prove_metadata(target, operator, requests.MOST_REQUESTS if is_whole else FEW_REQUESTS), 1, "")
        return found
    (obligation,) = (one for one in prove.OBLIGATIONS if one.name == name)
    for geometry in geometries.every(dtype) if is_whole else geometries.quick(dtype):
        try:
            programs = prove.variants(operator, geometry, ops.configurations, is_whole)
            if not is_whole and name != "taps":
                programs = _with_usual_options(programs)
            if is_whole and prove.are_renamed(operator, programs):
                found.scopes.add("in fp16 by the programs of bf16, which are the same")
                continue
        except launches.NotJudged as reason:
            found.reasons.setdefault(str(reason), repr(geometry))
            continue
        found.add(prove.prove_all(target, programs, obligation), len(programs), repr(geometry))
        if found.violated is not None:
            break
    return found


def _with_usual_options(programs: list[Any]) -> list[Any]:
    """Those with residual and without activation: other options change what is computed of elements, not which."""
    return [one for one in programs if one.world.use_residual and one.world.activation is None]


def violation(target: str, verdict: Verdict) -> Violation:
    """The violation that the machine showed of a counterexample, shown again. Raises NotJudged if it is not."""
    from properties.replay import replay

    try:
        replay(target, verdict.property_name, verdict.case, "ttir")
    except Violation as found:
        return found
    raise NotJudged(f"{verdict.reason}: its case was not violated again: {verdict.case!r}")
