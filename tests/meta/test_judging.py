"""How a test judges: which stored cases it begins with, and when its patience ends."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.database import InMemoryExampleDatabase
from hypothesis.strategies import integers

from properties import tally
from properties.verdict import Violation
from tests import judging
from tests.meta.candidates import plain
from tests.meta.judging_table import bound

NAME = "values.unbiased"


@pytest.fixture
def database(monkeypatch, pytestconfig):
    """A database of the test's own, empty."""
    found = InMemoryExampleDatabase()
    settings.register_profile("stored", settings.get_profile("pr"), database=found)
    settings.load_profile("stored")
    monkeypatch.setattr(judging, "how_to_see_it_again", lambda *given: "Reproduce:")
    monkeypatch.setattr(judging.Patience, "failures", 0)
    yield found
    settings.load_profile(pytestconfig.getoption("--hypothesis-profile") or "pr")


def told(kernel: str, least: int, tried: list[int], most: int = 2**40) -> str:
    """What a test tells of a kernel that is wrong from a number on; the numbers tried are noted."""

    def invariant(ops: Any, case: int) -> None:
        tried.append(case)
        if case >= least:
            raise Violation(NAME, "out", got=case, case=case)

    return told_of(kernel, invariant, most)


def told_of(kernel: str, invariant: Any, most: int) -> str:
    """What a test tells of an invariant over numbers, by the name of a kernel."""
    invariant.entry = tally.CATALOGUE[NAME]  # as tally.invariant does
    node = SimpleNamespace(name="test_unbiased[bf16]", stash=pytest.Stash())
    request = SimpleNamespace(node=node, fixturenames=["dtype"])
    with pytest.raises(pytest.fail.Exception) as caught:
        judging.judge(request, bound(kernel, plain), invariant, integers(0, most))  # type: ignore[arg-type]  # all it asks
    return str(caught.value)


def test_a_stored_case_is_of_one_kernel(database):
    """Begins with the case of an earlier run of the same file, and never with another file's."""
    assert f"out {2**32} " in told("kernel.py", 2**32, [])
    again: list[int] = []
    told("kernel.py", 2**32, again)
    assert again[0] == 2**32
    other: list[int] = []
    told("other.py", 2**32, other)
    assert other[0] != 2**32


def test_a_stored_case_is_shrunk_anew(database):
    """Tells the smallest case of what the file is now, not the one that was smallest before it changed."""
    told("kernel.py", 2**32, [])
    assert "out 2000 " in told("kernel.py", 2000, [])


@pytest.mark.parametrize(
    ("spent", "clock", "is_lost", "is_over"),
    [(5.9, 59.0, False, False), (6.1, 6.1, False, True), (1.0, 60.1, False, True), (1.0, 1.0, True, True)],
    ids=["a busy machine", "the processor's time", "the clock's", "a broken device"],
)
def test_patience(monkeypatch, spent, clock, is_lost, is_over):
    """Counts the processor's seconds; the clock's end it only after many times as many, a broken device at once."""
    now = [100.0, 1000.0]
    monkeypatch.setattr(judging.Patience, "failures", 0)
    monkeypatch.setattr(judging.Patience, "now", staticmethod(lambda: tuple(now)))
    ops = SimpleNamespace(engine=SimpleNamespace(is_lost=lambda: is_lost))
    patience, seen = judging.Patience(), []
    patience.keep(Violation(NAME, "out"), 3)
    now[:] = 100 + spent, 1000 + clock
    with suppress(judging.OutOfPatience):
        patience.run(lambda ops, case: seen.append(case), ops, 1)  # type: ignore[arg-type]  # it only counts
    assert seen == ([] if is_over else [1])


@pytest.mark.parametrize("is_wrong_once", [True, False])
def test_what_differs_from_call_to_call(database, is_wrong_once):
    """Is told as not seen again only where the case held; one that failed in another place was seen otherwise."""
    judged: list[int] = []

    def invariant(ops: Any, case: int) -> None:
        judged.append(case)
        if len(judged) == 1:
            raise Violation(NAME, "out", got=case, case=case)
        if not is_wrong_once:
            raise Violation(NAME, "cache", got=case, case=case)

    words = told_of("kernel.py", invariant, 0)
    assert ("Not seen again in the same case: " if is_wrong_once else "Seen otherwise in the same case: ") in words
    assert "the candidate keeps something between calls, or races." in words
