"""What a failure says of each fault, and whether it names the cause: python -m tests.meta.telling > docs/telling.md."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from properties import graph_strategies
from properties.candidate import load
from properties.cases import Metadata, Schedule
from properties.engines import choose
from properties.engines.base import Ops
from properties.invariants import graphs, history
from properties.lives import Life, Step, WarmUp
from properties.reducing import reduced
from properties.replays import Replays
from properties.scenarios import SCENARIOS, scenario
from properties.verdict import Violation
from tests.meta.candidates.faults import FAULTS, faulty
from tests.meta.candidates.faults_lives import ONLY_LIVES, operators
from tests.meta.candidates.graph_faults import FAULTS as GRAPH_FAULTS
from tests.meta.judging_table import bound, table
from tests.meta.shrinking import smallest
from tests.meta.telling_words import WORDS
from tests.meta.upstream_faults import UPSTREAM, UPSTREAM_FAULTS, changed

SECONDS = 6.0  # for finding and shrinking a case of one property, as long as the first failing test of a run has


def names_cause(name: str, violation: Violation) -> bool:
    """Whether the text has the words that name a fault's tap, slot, stream, line, or what else is wrong."""
    text = str(violation)
    return bool(WORDS[name]) and all(re.search(words, text) for words in WORDS[name])


def of_group(ops: Ops, groups: set[str], dtype: str) -> Violation | None:
    """The shrunk violation of the first property of these groups, explained; None if none is found."""
    for judged in table(dtype).values():
        if judged.group in groups and (found := smallest(ops, judged, SECONDS)):
            return found.violation.explain()
    return None


def of_graph(fault: Any, mode: str) -> Violation | None:
    """A violation of a fault that a replay shows, as small as it is found in one pass over drawn cases."""
    from tests.meta.judging_table import Judged

    invariant = {"piecewise": graphs.piecewise, "full": graphs.full, "breakable": graphs.breakable}[mode]
    judged = Judged(f"graphs.{mode}", invariant, graph_strategies.replays("bf16", mode), ())
    found = smallest(bound(fault.__name__, fault(), choose("ttir")), judged, SECONDS)
    return found.violation.explain() if found else None


def of_scenario(name: str) -> Violation | None:
    """The violation of the scenario of a public bug by a kernel that has it."""
    from tests.meta.test_lives import CAUGHT

    try:
        history.public_bugs(bound(name, CAUGHT[name]()), scenario(name, "bf16"))
    except Violation as violation:
        return violation.explain()
    return None


def of_life(name: str) -> Violation | None:
    """The violation of the smallest life that shows a fault."""
    from tests.meta.test_lives import run_lives

    ops = bound(name, operators(ONLY_LIVES[name]()))
    last = run_lives(ops, 60)

    def failing(case: Life) -> Any:
        nonlocal last
        try:
            history.life(ops, case)
        except Violation as violation:
            last = violation
            return violation.case
        return None

    if last is not None:
        reduced(last.case, failing)  # type: ignore[arg-type]  # it is given lives
    return last.explain() if last else None


def every(folder: Path) -> Iterator[tuple[str, Callable[[], Violation | None]]]:
    """Each fault by name, with what finds its violation."""
    for fault in FAULTS.values():
        ops = bound(fault.name, faulty(fault.name))
        yield fault.name, lambda ops=ops, fault=fault: of_group(ops, {fault.group}, fault.dtype)  # type: ignore[misc]
    for name in UPSTREAM_FAULTS if UPSTREAM.is_file() else ():
        yield f"upstream: {name}", lambda name=name: of_upstream(name, folder)  # type: ignore[misc]
    for fault_class, modes in GRAPH_FAULTS.items():
        yield f"graph: {fault_class.__name__}", lambda one=fault_class, mode=modes[0]: of_graph(one, mode)  # type: ignore[misc]
    for name in SCENARIOS:
        yield f"public bug: {name}", lambda name=name: of_scenario(name)  # type: ignore[misc]
    for name in ONLY_LIVES:
        yield f"life: {name}", lambda name=name: of_life(name)  # type: ignore[misc]


def of_upstream(name: str, folder: Path) -> Violation | None:
    """The violation of the upstream file with one line changed."""
    return of_group(choose("ttir").bind(load(str(changed(name, folder)))), UPSTREAM_FAULTS[name][2], "bf16")


def rows(case: Any) -> int:
    """The rows of a case, padding included; of all steps or replays together where there are several."""
    if isinstance(case, Life):
        steps = [step for step in case.steps if isinstance(step, (Step, WarmUp))]
        return sum(one.rows if isinstance(one, WarmUp) else sum(w.count for w in one.work) + one.pads for one in steps)
    if isinstance(case, Replays):
        return sum(forward.T for forward in case.forwards)
    if isinstance(case, Metadata):
        return sum(case.all_lengths) + (case.padding or 0)
    if isinstance(case, Schedule):
        return case.length
    return int(getattr(case, "forward", case).T)


def lines(show: Callable[[str], None] = lambda text: None) -> Iterator[str]:
    """The page in Markdown, one fault at a time; `show` is told each whole text."""
    yield from (
        "# What a failure says",
        "",
        "Written by `python -m tests.meta.telling`: each fault of the judge's own tests, the first line of the failure",
        "that it leads to, the rows of the shrunk case, the seconds to find, shrink and explain it, and whether the",
        "printed text names the cause: the tap and where it came from, the slot, the stream, the request, the line, or",
        "the computation. What must be said is in `tests/meta/telling_words.py`, checked by `test_explain.py` there.",
        "",
        "| fault | first line | rows | s | names the cause |",
        "|---|---|---|---|---|",
    )
    named = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, find in every(Path(folder)):
            begin = time.process_time()
            violation = find()
            seconds = time.process_time() - begin
            total += 1
            if violation is None:
                yield f"| {name} | not found | | {seconds:.1f} | **no** |"
                continue
            show(f"=== {name}\n{violation}\n")
            is_named = names_cause(name, violation)
            named += is_named
            headline = violation.headline.removeprefix("Violation: ").replace("|", "\\|")
            said = "yes" if is_named else "**no**"
            yield f"| {name} | {headline} | {rows(violation.case)} | {seconds:.1f} | {said} |"
    yield from ("", f"The cause is named for {named} of {total} faults.")


if __name__ == "__main__":
    whole = "-v" in sys.argv
    for line in lines((lambda text: print(text, file=sys.stderr, flush=True)) if whole else (lambda text: None)):
        print(line, flush=True)
