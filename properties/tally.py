"""The tally: per property, how many cases were judged and which edges they reached."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import wraps
from traceback import clear_frames
from typing import Any, TypeVar

from properties import turns
from properties.number_words import plural_of
from properties.printable import told
from properties.verdict import HOLDS, NOT_JUDGED, VIOLATED, NotJudged, Violation


@dataclass
class Count:
    """What one property was judged on."""

    judged: int = 0
    violated: int = 0
    edges: set[str] = field(default_factory=set)
    reasons: set[str] = field(default_factory=set)  # why it was not judged
    examples: dict[str, str] = field(default_factory=dict)  # seen while others were judged: by line, the shortest each
    dtypes: set[str] = field(default_factory=set)  # of the cases that were judged
    violated_dtypes: set[str] = field(default_factory=set)
    excused: bool = False  # not judged because the candidate or the engine does not offer what it is about
    notes: set[str] = field(default_factory=set)  # what else is to be said where it holds
    near: int = 0  # cases that held within a bound, with other bits than the baseline's
    replays: int = 0  # of captured regions
    elsewhere: set[str] = field(default_factory=set)  # shards that judge its pinned cases, or its proof

    @property
    def is_excused(self) -> bool:
        """Whether it fails no run that this is not judged: nothing offers it, or another shard judges the rest."""
        return self.excused or (bool(self.elsewhere) and not self.reasons)


@dataclass(frozen=True)
class Property:
    """A property of the catalogue: group, sentence, operator, and the edges without which it says nothing."""

    name: str
    group: str
    sentence: str
    operator: str
    needs: frozenset[str]
    needs_hazards: bool
    edges: Callable[[Any], Set[str]] | None = None  # of a case; None where no edges are counted

    def excuse(self, ops: Any) -> str | None:
        """Why the property cannot be judged with these operators on this engine, or None."""
        if not ops.offers(self.operator):
            return f"{ops.name} offers no {self.operator}"
        if self.group == "proof" and not ops.engine.sees_hazards:
            return f"the engine {ops.engine.name} shows no program to prove of; judge with --engine ttir"
        if self.needs_hazards and not ops.engine.sees_hazards:
            return f"the engine {ops.engine.name} does not observe hazards; judge with --engine ttir"
        if self.group == "baseline" and ops.baseline is None:
            return "no --baseline is given"
        if self.group == "baseline" and not ops.baseline.offers(self.operator):
            return f"the baseline {ops.baseline.name} offers no {self.operator}"
        if self.group == "graphs" and ops.engine.no_graphs:
            return str(ops.engine.no_graphs)
        return None


MOST_EXAMPLES = 3  # of a property; lines of one fault hide one another no longer
CATALOGUE: dict[str, Property] = {}
COUNTS: dict[str, Count] = {}
SKIPPED: dict[str, str] = {}  # properties that are not judged because the user says so, and where it is explained

Invariant = TypeVar("Invariant", bound=Callable[..., None])


def invariant(
    group: str,
    operator: str = "fused_sconv",
    needs: frozenset[str] | set[str] = frozenset(),
    edges: Any = None,
    needs_hazards: bool = False,
) -> Callable[[Invariant], Invariant]:
    """Registers `name(ops, case)` in the catalogue and counts the cases that it judges.

    needs: edges that some case must have reached for the property to hold rather than be vacuous.
    edges: function from a case to the edges it reaches.
    needs_hazards: whether only an engine that observes hazards can judge it.
    """

    def register(function: Invariant) -> Invariant:
        name = f"{group}.{function.__name__}"
        sentence = (function.__doc__ or "").strip().split("\n")[0]
        entry = Property(name, group, sentence, operator, frozenset(needs), needs_hazards, edges)
        CATALOGUE[name] = entry

        @wraps(function)
        def judge(ops: Any, case: Any) -> None:
            __tracebackhide__ = True
            ops.earlier = None  # a case must fail, or hold, by itself
            try:
                with counting(entry, ops, case):
                    function(ops, case)
            except Violation as violation:
                if not isinstance(violation.case, type(case)):
                    violation.case = case  # a forward of several cannot be judged again without the others
                if turns.held():
                    _let_go(violation)
                raise
            finally:
                turns.over()
            count_case(entry, case)

        judge.entry = entry  # type: ignore[attr-defined]  # the tests read it back
        return judge  # type: ignore[return-value]  # same signature, by construction

    return register


def _let_go(violation: Violation) -> None:
    """Explains a violation now, and frees what waits for that in it or in its frames: gigabytes of a shared GPU."""
    violation.explain()
    clear_frames(violation.__traceback__)
    gc.collect()  # what explains and what it explains know each other


@contextmanager
def counting(entry: Property, ops: Any, case: Any) -> Iterator[None]:
    """Names a property's case to the operators while it is judged, and counts what keeps it from holding."""
    __tracebackhide__ = True
    count = COUNTS.setdefault(entry.name, Count())
    if excuse := entry.excuse(ops):
        count.reasons.add(excuse)
        count.excused = True
        raise NotJudged(excuse)
    try:
        with ops.judging(entry.name, case):
            yield
    except Violation as violation:
        found = COUNTS.setdefault(violation.property_name, Count())
        found.violated += 1
        found.violated_dtypes |= dtype_of(violation.case)
        violation.__context__ = None  # by which Hypothesis tells failures apart: a class of its own for each call
        raise
    except NotJudged as reason:
        count.reasons.add(str(reason))
        reason.__context__ = None
        raise
    except Exception as error:  # the candidate's own exceptions are violations by now
        count.reasons.add(f"the judge failed: {told(error)}")
        raise


@contextmanager
def trying(name: str) -> Iterator[None]:
    """Forgets why cases were not judged that were only tried: a smaller one need not be one that a property takes."""
    count = COUNTS.setdefault(name, Count())
    reasons = set(count.reasons)
    try:
        yield
    finally:
        count.reasons = reasons


def count_case(entry: Property, case: Any) -> None:
    """Counts a case for which a property held."""
    count = COUNTS.setdefault(entry.name, Count())
    count.judged += 1
    count.dtypes |= dtype_of(case)
    if entry.edges is not None:
        count.edges |= entry.edges(case)


def count_near(name: str) -> None:
    """Counts a case in which the candidate's bits are not the baseline's, though both are within the bound."""
    COUNTS.setdefault(name, Count()).near += 1


def count_replay(name: str) -> None:
    """Counts a replay of a captured region."""
    COUNTS.setdefault(name, Count()).replays += 1


def leave_to(name: str, shard: str) -> None:
    """Notes that another shard judges the pinned cases or the proof of one of a property's tests."""
    COUNTS.setdefault(name, Count()).elsewhere.add(shard)


@contextmanager
def apart() -> Iterator[None]:
    """Counts nothing of what is judged meanwhile: cases that are tried for a proof are none of the run's."""
    kept = dict(COUNTS)
    COUNTS.clear()
    try:
        yield
    finally:
        COUNTS.clear()
        COUNTS.update(kept)


def note(violation: Violation) -> None:
    """Counts a violation that was seen while another property was judged, and keeps the shortest."""
    count = COUNTS.setdefault(violation.property_name, Count())
    count.violated += 1
    count.violated_dtypes |= dtype_of(violation.case)
    _keep(count.examples, {violation.at: str(violation)})


def _keep(examples: dict[str, str], others: Mapping[str, str]) -> None:
    """Adds examples by source line: the shortest of each line, and the shortest few of all."""
    for at, words in others.items():
        examples[at] = min(examples.get(at, words), words, key=len)
    for at in sorted(examples, key=lambda at: len(examples[at]))[MOST_EXAMPLES:]:
        del examples[at]


def dtype_of(case: Any) -> set[str]:
    """The dtype of a case's inputs, if it has such."""
    one = getattr(case, "forward", None) or next(iter(getattr(case, "forwards", ())), case)
    geometry = getattr(one, "geometry", None)
    return {geometry.dtype} if geometry is not None else set()


def verdict(name: str, count: Count) -> tuple[str, str]:
    """The verdict on a property and its reason, from what was counted."""
    if name in SKIPPED:
        return NOT_JUDGED, f"skipped: {SKIPPED[name]}" + "; seen violated all the same" * (count.violated > 0)
    if count.violated:
        others = count.dtypes - count.violated_dtypes
        words = [f"in {', '.join(sorted(count.violated_dtypes))}"] if count.violated_dtypes else []
        words += [f"{', '.join(sorted(others))} held"] if others and words else []
        return VIOLATED, "; ".join([*words, *sorted(count.reasons)])
    if count.reasons:
        held = [f"{', '.join(sorted(count.dtypes))} held"] if count.excused and count.dtypes else []
        return NOT_JUDGED, "; ".join([*sorted(count.reasons), *held])
    shards = plural_of("shard", sorted(count.elsewhere))
    left = [f"{'the rest is ' * bool(count.judged)}left to {shards}"] if count.elsewhere else []
    if not count.judged:
        return NOT_JUDGED, "; ".join(left or ["no case was judged"])
    if missing := unreached(name, count):
        return NOT_JUDGED, "; ".join([f"no case reached: {', '.join(sorted(missing))}", *left])
    if name.startswith("baseline.") and count.near:
        return HOLDS, f"within the bound ({count.near:,} of {count.judged:,} cases differ in the last bits)"
    replays = [f"{count.replays:,} replay{'s' * (count.replays != 1)}"] * (count.replays > 0)
    return HOLDS, "equal in all bits" if name.startswith("baseline.") else "; ".join([*replays, *sorted(count.notes)])


def unreached(name: str, count: Count) -> Set[str]:
    """The edges whose lack alone keeps a property from being judged."""
    is_alone = name in CATALOGUE and name not in SKIPPED and count.judged and not count.violated and not count.reasons
    return CATALOGUE[name].needs - count.edges if is_alone else frozenset()


def dump() -> dict[str, dict[str, Any]]:
    """The counts as plain data, to travel from an xdist worker to its controller."""
    plain = {name: asdict(count) for name, count in COUNTS.items()}
    return {n: {k: sorted(v) if isinstance(v, set) else v for k, v in c.items()} for n, c in plain.items()}


def merge(plain: dict[str, dict[str, Any]]) -> None:
    """Adds another process's counts to this one's."""
    for name, other in plain.items():
        count = COUNTS.setdefault(name, Count())
        count.judged += other["judged"]
        count.violated += other["violated"]
        count.near += other["near"]
        count.replays += other["replays"]
        count.excused |= other["excused"]
        _keep(count.examples, other["examples"])
        count.dtypes |= set(other["dtypes"])
        count.violated_dtypes |= set(other["violated_dtypes"])
        count.edges |= set(other["edges"])
        count.reasons |= set(other["reasons"])
        count.notes |= set(other["notes"])
        count.elsewhere |= set(other["elsewhere"])
