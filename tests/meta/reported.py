"""What the tests of the reports report on: a run with violations made by hand, taps and spread included."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from properties.cases import Forward, Geometry, Request
from properties.judge import Judge
from properties.paging import place
from properties.report.data import as_data
from properties.report.document import Outcome, Run, document
from properties.verdict import Source, Spread, Tap, Violation
from tests.meta.candidates import plain
from tests.meta.judging_table import bound

CASE = Forward(Geometry(ws=3, N=4, W=4, D=3), (Request(length=2), Request(start=4, length=2)), pads=2)
NULL_BLOCK = Source("cache", block=0, offset=3, head=0, d=0, note="the null block")
RUN = Run(profile="pr", seed="7", started="2026-01-02T03:04:05+00:00", seconds=121.4, exit_code=1)


def meant(case: Forward, request: int, position: int) -> list[Source]:
    """Where the taps of channel 0 of a position are meant to come from."""
    geometry, one = case.geometry, case.requests[request]
    blocks, found = place(case).blocks[request], []
    for at in range(position - geometry.W + 1, position + 1):
        if at < 0:
            found.append(Source("nothing"))
        elif at >= one.start:
            found.append(Source("x", at, row=case.first_rows[request] + at - one.start, channel=0))
        else:
            block, offset = divmod(at, geometry.N)
            found.append(Source("cache", at, block=blocks[block], offset=offset, head=0, d=geometry.off_s))
    return found


def violation(
    case: Forward = CASE, request: int = 1, position: int = 5, came: Mapping[int, Source | None] | None = None
) -> Violation:
    """A violation of one output whose taps came from `came`, or from where they were meant to; errors grow by row."""
    sources = meant(case, request, position)
    taps = tuple(Tap(index, one, (came or {}).get(index, one)) for index, one in enumerate(sources))
    row = case.first_rows[request] + position - case.requests[request].start
    elements = ((row, 0, 0.5), (row, 2, float("nan"))) if case.geometry.C > 2 else ((row, 0, -300.0),)
    spread = Spread(
        len(elements), case.T * case.geometry.C, f"{len(elements)} differ", case.T, case.geometry.C, elements
    )
    return Violation(
        "values.dense_exact",
        "out",
        where={"request": request, "position": position, "channel": 0},
        got="0.25",
        wanted="0.5",
        let=f"request {request} has {one_of(case, request)} tokens",
        then="position by position",
        but="it differs",
        case=case,
        taps=taps,
        spread=spread,
    )


def one_of(case: Forward, request: int) -> int:
    """How many tokens a request has in the cache."""
    return case.requests[request].start


def outcome(found: Violation, test: str = "tests/test_values.py::test_dense_exact[bf16]") -> Outcome:
    """A test that failed for a violation, as its worker reports it."""
    text = f"{found}\nNot seen again in the same case.\nReproduce:    python -m pytest '{test}'"
    return Outcome(test, "failed", 1.25, text, as_data(found))


def report(*outcomes: Outcome, run: Run = RUN, engine: Any = None) -> dict[str, Any]:
    """The report of a run of the plain candidate with these outcomes."""
    ops = bound("plain.py", SimpleNamespace(**vars(plain)), engine)
    return document(Judge(ops, ops.engine), run, outcomes)
