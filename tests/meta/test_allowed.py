"""Cases that the contract does not allow are told in one line; every case that the judge draws or pins is allowed."""

from __future__ import annotations

import pytest
from hypothesis.strategies import SearchStrategy

from properties.allowed import fault
from properties.cases import FAR
from properties.replay import case_of
from properties.scenarios import SCENARIOS
from tests.meta.judging_table import drawn_cases, table

REFUSED = {
    "Geometry(off_s=5)": "Geometry.off_s is 5, but must be at most D - ws = 0: the stream lies in a row of D elements",
    "Geometry(ws=2)": "Geometry.ws is 2, but must be at most D - off_s = 1: the stream lies in a row of D elements",
    "Geometry(N=0)": "Geometry.N is 0, but must be at least 1",
    'Geometry(dtype="fp8")': "Geometry.dtype is 'fp8', but must be one of 'bf16', 'fp16', 'fp32'",
    "Forward(requests=Request())": "Forward.requests is Request(), but must be a tuple of Requests; "
    "of one it has a comma: (Request(),)",
    "Forward(holes=0)": "Forward.holes is 0, but must be a tuple of whole numbers; of one it has a comma: (0,)",
    "Forward(requests=(1,))": "Forward.requests is (1,), but must be a tuple of Requests",
    "Forward(pads=True)": "Forward.pads is True, but must be a whole number",
    "Forward(pads=-1)": "Forward.pads is -1, but must be at least 0",
    "Forward(requests=(Request(length=1.5),))": "Request.length is 1.5, but must be a whole number",
    "Forward(requests=(Request(start=-1),))": "Request.start is -1, but must be at least 0",
    "Forward(requests=(Request(fork=0),))": "Forward.requests is (Request(fork=0),), but must be such that the fork of "
    "request 0, 0, is an earlier request",
    "Forward(holes=(1,))": "Forward.holes is (1,), but must be rows below 1, each once",
    "Forward(holes=(0, 0))": "Forward.holes is (0, 0), but must be rows below 1, each once",
    'Forward(activation="relu")': "Forward.activation is 'relu', but must be one of None, 'silu', 'swish'",
    "Forward(activation=1)": "Forward.activation is 1, but must be a word or None",
    'Forward(contents="big")': "Forward.contents is 'big', but must be one of 'exact', 'codes', 'normal', 'wide', "
    "'cancel', 'tiny', 'huge'",
    "Forward(seed=-1)": "Forward.seed is -1, but must be at least 0",
    "Forward(layout=Layout(weight='x'))": "Layout.weight is 'x', but must be one of 'plain', 'transposed', "
    "'sliced', 'far', 'far channels'",
    "Forward(layout=Layout(shift=64))": "Layout.shift is 64, but must be below 64, the elements before a tensor",
    "Forward(layout=Layout(head_stride=8))": f"Layout.head_stride is 8, but must be 0 or at least {FAR}",
    "Metadata(lengths=(-1,))": "Metadata.lengths is (-1,), but must be numbers from 0",
    "Metadata(padding=-1)": "Metadata.padding is -1, but must be None or at least 0",
    "Schedule(accepted=2)": "Schedule.accepted is 2, but must be from 0 to window - 1 = 1",
    "Schedule(cuts=(-1,))": "Schedule.cuts is (-1,), but must be numbers from 0",
    "Streams(order=(0, 1, 2))": "Streams.order is (0, 1, 2), but must be 0, 1, 2 and 3 in any order",
    "Replays(forwards=())": "Replays.forwards is (), but must be at least one",
    "Replays(forwards=(Forward(), Forward(use_residual=False)))": "Replays.forwards is (Forward(), "
    "Forward(use_residual=False)), but must be alike in use_residual, which a graph freezes",
    "Replays(eager=1)": "Replays.eager is 1, but must be None or a stage from 0 to 0",
    "Replays(breaks=(1,))": "Replays.breaks is (1,), but must be stages from 1 to 0",
    "Life(steps=(Free(),))": "Life: sequence 0 does not live; sequences [] do",
    "Life(steps=(Admit(), Step((Rows(count=17),))))": "Life: Rows(count=17) leads to position 17 of 16",
    "Life(steps=Admit())": "Life.steps is Admit(), but must be a tuple of steps; of one it has a comma: (Admit(),)",
    "Life(blocks=0)": "Life.blocks is 0, but must be at least 1",
}


@pytest.mark.parametrize(("case", "line"), REFUSED.items(), ids=REFUSED)
def test_what_the_contract_does_not_allow(case, line):
    """Names field, value and what is allowed, in one line."""
    assert fault(case_of(case)) == line


def test_what_is_no_case():
    """Says what a case is."""
    assert str(fault(3)).startswith("the case is 3, but must be a Forward, ")


@pytest.mark.parametrize("name", table("bf16"))
def test_every_drawn_and_pinned_case_is_allowed(name):
    """Refuses nothing that a property's own test judges."""
    judged = table("bf16")[name]
    drawn = drawn_cases(name, "bf16", 60) if isinstance(judged.cases, SearchStrategy) else tuple(SCENARIOS.values())
    assert [(case, words) for case in (*drawn, *judged.pinned) if (words := fault(case))] == []
