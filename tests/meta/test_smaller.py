"""Making cases smaller field by field: what is kept, in how many calls, and what a test tells of it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis.strategies import just

from properties import allowed, tally
from properties.cases import Case, Forward, Geometry, Layout, Metadata, Request, Schedule, Streams
from properties.smaller import reduced, smaller
from properties.verdict import Violation
from tests import judging
from tests.meta.candidates import plain
from tests.meta.judging_table import bound

LARGE = Forward(
    Geometry(H=8, ws=4, N=16, W=4, off_s=8, D=16),
    (
        Request(70, 9),
        Request(4095, 19),
        Request(33, 5, 0),
        Request(0, 40),
        Request(17, 2, 2),
        Request(1),
        Request(64, 8),
    ),
    pads=7,
    holes=(0, 12, 29, 30),
    activation="silu",
    use_residual=False,
    layout=Layout(table_columns=15, table_rows=5, table_gap=3, page_pad=8, weight="sliced", shift=1),
    contents="normal",
    block_seed=116,
    seed=308,
)
FEW = 150  # calls, of some 20 ms of the machine each at a small geometry


@pytest.mark.parametrize(
    ("fails", "smallest"),
    [
        (lambda case: case.T > 0, Forward(Geometry(W=2), contents="normal")),
        (lambda case: len(case.requests) > 1, Forward(Geometry(W=2), (Request(), Request()))),
        (lambda case: case.pads > 2 and case.geometry.H > 1, Forward(Geometry(H=2, ws=2, N=4, W=4, D=2), pads=3)),
        (lambda case: any(one.start >= 64 for one in case.requests), Forward(Geometry(W=2), (Request(64),))),
        (
            lambda case: any(one.fork is not None for one in case.requests),
            Forward(Geometry(W=2), (Request(), Request(fork=0))),
        ),
        (lambda case: bool(case.holes), Forward(Geometry(W=2), holes=(0,))),
        (lambda case: case.T > 64, Forward(Geometry(W=2), (Request(length=58),), pads=7)),
        (lambda case: case.geometry.W > 3, Forward(Geometry(N=4, W=4))),
        (lambda case: case.layout.page_pad > 0, Forward(Geometry(W=2), layout=Layout(page_pad=8))),
    ],
)
def test_what_fails_is_kept_and_nothing_else(fails, smallest):
    """Comes in few calls to a case that has what the fault needs."""
    calls = 0

    def counted(case: Forward) -> bool:
        nonlocal calls
        calls += 1
        return bool(fails(case))

    found = reduced(LARGE, counted)
    assert fails(found)
    assert (len(found.requests), found.T) <= (len(smallest.requests), smallest.T), f"{found!r}"
    assert len(repr(found)) <= len(repr(smallest))
    assert calls <= FEW


@pytest.mark.parametrize(
    "case",
    [
        LARGE,
        Streams(LARGE, kv=3, wide=5, order=(3, 1, 0, 2)),
        Schedule(LARGE.geometry, cuts=(1, 5, 17, 2, 0, 3), window=7, accepted=4, activation="silu"),
        Metadata((3, 0, 255, 1), repeat=9, padding=256, slack=300, extra=40, shift=1, seed=5),
    ],
)
def test_every_kind_is_made_smaller_within_the_contract(case):
    """Yields other cases alone, and from each kind comes to one that has nothing left."""
    tried: list[Case] = []

    def everything(one: Case) -> bool:
        tried.append(one)
        return True

    found = reduced(case, everything)
    assert case not in tried
    assert len(tried) == len(set(tried))
    assert [allowed.fault(one) for one in tried] == [None] * len(tried)
    assert len(repr(found)) < 80, f"{found!r}"


def test_what_violates_another_property_is_tried_first():
    """Takes the smallest case of an earlier failure, with the numbers and the dtype that this property's cases have."""
    known = Forward(Geometry(N=4, W=3), (Request(5), Request(2)))
    tried: list[Any] = []
    case = Forward(
        Geometry(H=2, ws=3, N=4, W=4, D=8, dtype="fp16"), LARGE.requests, contents="codes", use_residual=False
    )

    def everything(one: Forward) -> bool:
        tried.append(one)
        return True

    reduced(case, everything, [known])
    assert tried[0] == Forward(Geometry(N=4, W=3, dtype="fp16"), known.requests, contents="codes", use_residual=False)


def test_every_smaller_forward_is_another():
    """Never yields the case itself, which would be tried for nothing."""
    assert LARGE not in list(smaller(LARGE))


def told(monkeypatch: pytest.MonkeyPatch, is_wrong: Callable[[Forward], bool], *pinned: Forward) -> str:
    """What a test tells of a kernel that is wrong in some forwards, of which `LARGE` is the only one drawn."""
    monkeypatch.setattr(judging, "how_to_see_it_again", lambda *given: "Reproduce:")
    monkeypatch.setattr(judging.Patience, "failures", 0)
    monkeypatch.setattr(judging.Patience, "known", [])

    def invariant(ops: Any, case: Forward) -> None:
        if is_wrong(case):
            raise Violation("values.unbiased", "out", got="wrong", case=case)

    invariant.entry = tally.CATALOGUE["values.unbiased"]  # type: ignore[attr-defined]  # as tally.invariant does
    node = SimpleNamespace(name="test_unbiased[bf16]", stash=pytest.Stash())
    request = SimpleNamespace(node=node, fixturenames=["dtype"])
    drawn = Forward() if pinned else LARGE
    with pytest.raises(pytest.fail.Exception) as caught:
        judging.judge(request, bound("kernel.py", plain), invariant, just(drawn), *pinned)  # type: ignore[arg-type]  # all it asks
    return str(caught.value)


def test_a_drawn_case_is_told_small(monkeypatch):
    """Tells the smallest case, and nothing of time where it was enough."""
    words = told(monkeypatch, lambda case: case.pads > 1)
    assert "Failing case: Forward(pads=2)\nReproduce:" in words


def test_a_pinned_case_is_told_small(monkeypatch):
    """Makes pinned cases smaller, too."""
    words = told(monkeypatch, lambda case: case.pads > 1, LARGE)
    assert "pads=2)\nReproduce:" in words


def test_what_is_not_seen_again_is_said(monkeypatch):
    """Says of a case that fails once that it was not seen again, and tells it as it was."""
    seen: list[Forward] = []

    def once(case: Forward) -> bool:
        seen.append(case)
        return len(seen) == 1

    words = told(monkeypatch, once)
    assert f"Failing case: {LARGE!r}\n{judging.NOT_AGAIN.format('Not seen again').strip()}" in words


def test_time_that_is_over_is_said(monkeypatch):
    """Says that a smaller case may fail where the time was over, and tells the smallest that was found."""
    seconds = iter([(float(second), 0.0) for second in range(1000)])
    monkeypatch.setattr(judging.Patience, "now", staticmethod(lambda: next(seconds)))
    words = told(monkeypatch, lambda case: case.pads > 1)
    assert "Not shrunk to the end" in words
    assert repr(LARGE) not in words
