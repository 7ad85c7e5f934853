"""How small a failing case each fault shrinks to, and how soon: python -m tests.meta.shrinking > docs/shrinking.md."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings

from properties.candidate import load
from properties.cases import Forward, Metadata, Schedule, Streams
from properties.engines import choose
from properties.engines.base import Ops
from properties.quality import same_anywhere
from properties.smaller import KINDS, reduced
from properties.verdict import NotJudged, Violation
from tests.meta.candidates.faults import FAULTS, faulty
from tests.meta.judging_table import Judged, bound, table
from tests.meta.upstream_faults import UPSTREAM, UPSTREAM_FAULTS, changed

SECONDS = 10.0  # to find and to shrink, of the processor, so that other work on the machine changes nothing
MOST_REQUESTS = 2
EXAMPLES = 120  # of the profile `pr`


class OutOfTime(BaseException):
    """Ends the search; what is smallest by then stands."""


@dataclass
class Smallest:
    """The smallest violation found, and when."""

    violation: Violation
    found_after: float
    shrunk_after: float  # seconds until it was as small as it got

    @property
    def requests(self) -> int:
        """Requests of the case."""
        case = self.violation.case
        if isinstance(case, Schedule):
            return 1
        return len(case.all_lengths if isinstance(case, Metadata) else _forward(case).requests)

    @property
    def rows(self) -> int:
        """Rows of the case, padding included."""
        case = self.violation.case
        if isinstance(case, Schedule):
            return case.length
        return sum(case.all_lengths) + (case.padding or 0) if isinstance(case, Metadata) else _forward(case).T

    @property
    def most_rows(self) -> int:
        """`W + 2`; a call of the metadata operator has no `W`, and is held to that of the models."""
        case = self.violation.case
        return (4 if isinstance(case, Metadata) else _forward(case).geometry.W) + 2

    @property
    def is_small(self) -> bool:
        """Whether the case is as small as the project promises."""
        return self.requests <= MOST_REQUESTS and self.rows <= self.most_rows


def _forward(case: Any) -> Forward:
    return case.forward if isinstance(case, Streams) else case


def smallest(ops: Ops, judged: Judged, seconds: float = SECONDS) -> Smallest | None:
    """Looks for a violation of one property and shrinks it, as a run of the judge does with that much time."""
    begin = time.process_time()
    best: Smallest | None = None

    def fails(case: Any) -> bool:
        nonlocal best
        after = time.process_time() - begin
        if after > seconds:
            raise OutOfTime
        try:
            judged.invariant(ops, case)
        except Violation as violation:
            is_field_by_field = best is not None and isinstance(case, KINDS)
            if best is None or is_field_by_field or len(repr(case)) <= len(repr(best.violation.case)):
                best = Smallest(violation, best.found_after if best else after, after)
            return True
        return False

    def every(case: Any) -> None:
        if best is not None and isinstance(best.violation.case, KINDS):
            raise OutOfTime  # as tests/judging.py ends Hypothesis's part
        if fails(case) and best is not None:
            raise best.violation

    test = settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )(given(judged.cases)(every))
    try:
        with same_anywhere():
            test()
    except (Violation, NotJudged, OutOfTime):
        pass
    if best is not None and isinstance(best.violation.case, KINDS):
        with suppress(OutOfTime):
            reduced(best.violation.case, partial(_holds_not, fails))
    return best


def _holds_not(fails: Callable[[Any], bool], case: Any) -> bool:
    """Whether a case fails; one that the property does not take does not."""
    try:
        return fails(case)
    except Exception:
        return False


def first_of(ops: Ops, groups: set[str], dtype: str) -> Smallest | None:
    """The smallest case of the first violated property of these groups whose case is small, else of them all."""
    best: Smallest | None = None
    for judged in table(dtype).values():
        found = smallest(ops, judged) if judged.group in groups else None
        if found is not None and (best is None or found.requests + found.rows < best.requests + best.rows):
            best = found
        if best is not None and best.is_small:
            break
    return best


def lines() -> Iterator[str]:
    """The page in Markdown, one fault at a time."""
    yield from (
        "# How small failing cases are",
        "",
        "Written by `python -m tests.meta.shrinking`, one fault after another: the first property of the fault's group",
        "that tells it by a small case (else the smallest of all), and that case after at most",
        f"{SECONDS:.0f} seconds of one core for finding and shrinking it. A case should have at most {MOST_REQUESTS}",
        "requests and `W + 2` rows (6 for a call of the metadata operator); **bold** is what has more. Faults of the",
        "upstream file run on the `ttir` engine.",
        "",
        "| fault | property | requests | rows | `W + 2` | found after, s | smallest after, s |",
        "|---|---|---|---|---|---|---|",
    )
    for fault in FAULTS.values():
        yield row(fault.name, first_of(bound(fault.name, faulty(fault.name)), {fault.group}, fault.dtype))
    if not UPSTREAM.is_file():
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, (_, _, groups) in UPSTREAM_FAULTS.items():
            ops = choose("ttir").bind(load(str(changed(name, Path(folder)))))
            yield row(f"upstream: {name}", first_of(ops, groups, "bf16"))


def row(name: str, found: Smallest | None) -> str:
    """One line of the table."""
    if found is None:
        return f"| {name} | **not found** | | | | | |"
    requests = f"**{found.requests}**" if found.requests > MOST_REQUESTS else found.requests
    rows = f"**{found.rows}**" if found.rows > found.most_rows else found.rows
    times = f"{found.found_after:.1f} | {found.shrunk_after:.1f}"
    return f"| {name} | `{found.violation.property_name}` | {requests} | {rows} | {found.most_rows} | {times} |"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
    sys.exit(0)
