"""Lives: the plain candidate holds, faults that only a life finds are found and shrunk, each public bug is caught."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from hypothesis.stateful import run_state_machine_as_test

from properties import cases, lives, replay, strategies
from properties.books import Books, life_edges
from properties.cases import Geometry
from properties.engines.base import Engine as Host
from properties.invariants import batch, cache, history, schedule, streams, values
from properties.lives import Admit, Deed, Fork, Free, LetGo, Life, Preempt, Rows, Step, WarmUp
from properties.reducing import reduced
from properties.rules import Engine
from properties.scenarios import SCENARIOS, scenario
from properties.verdict import Violation
from tests.judging import RULES, Patience, StepByStep
from tests.meta.candidates import faults_lives, plain
from tests.meta.candidates.faults import faulty
from tests.meta.candidates.faults_lives import ONLY_LIVES, operators
from tests.meta.drawing import first_violation, generating
from tests.meta.test_command_line import called
from tests.meta.test_faults import bound

DTYPE = "bf16"
ENTRY: Any = history.life.entry  # type: ignore[attr-defined]  # set by tally.invariant
FORWARDS = strategies.forwards(DTYPE, ("normal",))
SCHEDULES = strategies.schedules(DTYPE, (None,))
# What judges single forwards, and one sequence over several.
OTHERS: dict[Any, Any] = {
    values.dense_exact: strategies.forwards(DTYPE),
    cache.stores_inputs: FORWARDS,
    cache.write_frame: FORWARDS,
    batch.neighbours: FORWARDS,
    batch.shared_prefix: FORWARDS,
    schedule.any_cut: SCHEDULES,
    schedule.rollback: SCHEDULES,
    schedule.repeated: SCHEDULES,
    schedule.preempted: SCHEDULES,
    streams.any_order: strategies.streams(DTYPE),
}
# The faulty kernel that each public bug's scenario catches.
CAUGHT = {
    "pages_have_grown": lambda: faulty("block_size_is_W"),
    "window_between_chunks": lambda: operators(faults_lives.ShortChunkColumns()),
    "short_chunk_after_shared_prefix": lambda: faulty("store_in_read_block"),
    "rejected_drafts": lambda: operators(faults_lives.DraftsKept()),
    "padding_beside_slot_0": lambda: faulty("pads_in_slot_0"),
    "fewer_requests_than_before": lambda: faulty("stale_tail"),
    "warm_up_before_block_0": lambda: faulty("pads_in_slot_0"),
    "padding_after_ended_requests": lambda: operators(faults_lives.PadsReadTable()),
    "recycled_nan": lambda: faulty("masked_by_product"),
}


class Forgetful(Patience):
    """Keeps no failure, and counts none."""

    def keep(self, error: Exception, case: Any, choice: int = 0) -> None:
        """Keeps nothing."""


def run_lives(ops: Any, count: int) -> Violation | None:
    """A violation of that many lives, as it was met, or None."""

    def begin() -> Engine:
        return Engine(DTYPE, lambda case: StepByStep(history.Living(ops, ENTRY.name, case), ENTRY, Forgetful()))

    try:
        run_state_machine_as_test(begin, settings=generating(count, stateful_step_count=RULES))  # type: ignore[arg-type]  # documented to take a function
    except Violation as violation:
        return violation
    return None


class Obliging:
    """Operators that hold the caller to the contract, by the tensors of each call alone."""

    name, device, earlier = "obliging", "cpu", None
    engine = Host()

    def offers(self, operator: str) -> bool:
        """Offers both."""
        return True

    def judging(self, name: str, case: Any) -> Any:
        """Watches nothing."""
        return nullcontext()

    def sconv_seq_metadata(self, *arguments: Any) -> None:
        """Fills both buffers."""
        plain.sconv_seq_metadata(*arguments)

    def fused_sconv(self, **given: Any) -> Any:
        """Looks at owners, positions, slots and table before it convolves."""
        N, W, slots = given["block_size"], given["weight"].shape[1], given["slot_mapping"].tolist()
        owners, firsts, positions = (given[name].tolist() for name in ("seq_idx", "query_start", "positions"))
        stored = [slot for slot in slots if slot >= 0]
        read = set()
        for row in [row for row, slot in enumerate(slots) if slot >= 0]:
            first, table = firsts[row], given["block_table"][owners[row]].tolist()
            start = positions[row] - (row - first)
            assert positions[first : row + 1] == list(range(start, positions[row] + 1))
            assert set(owners[first : row + 1]) == {owners[row]}
            assert slots[row] == table[positions[row] // N] * N + positions[row] % N
            read |= {table[p // N] * N + p % N for p in range(max(0, positions[row] - W + 1), start)}
        assert len(set(stored)) == len(stored)
        assert not read & set(stored)
        assert all(0 <= slot < len(given["cache"]) * N for slot in {*read, *stored})
        assert given["cache"].shape[2] == N
        return plain.fused_sconv(**given)


def test_a_life_keeps_the_contract():
    """Finds rows, slots and blocks of every forward as the contract demands them, and a correct candidate right."""
    assert run_lives(Obliging(), 30) is None


def test_lives_reach_every_edge():
    """Reaches what the property needs in at least one of six lives: 30 miss it once in 200 runs, pr draws more."""
    reached: Counter[str] = Counter()

    class Looking:
        """Counts the edges of a life, and judges nothing."""

        def __init__(self, case: Life) -> None:
            self.case = case

        def do(self, step: Deed) -> None:
            self.case = replace(self.case, steps=(*self.case.steps, step))

        def end(self) -> None:
            reached.update(["lives", *life_edges(self.case)])

    run_state_machine_as_test(lambda: Engine(DTYPE, Looking), settings=generating(200, stateful_step_count=RULES))  # type: ignore[arg-type]  # as above
    shares = {edge: hits / reached["lives"] for edge, hits in reached.items()}
    assert {edge: shares.get(edge, 0) for edge in history.NEEDS if shares.get(edge, 0) < 1 / 6} == {}
    assert set(shares) == history.NEEDS | {"lives", "NaN left behind", "request without rows"}
    assert min(shares.values()) > 0.01


@pytest.mark.parametrize("name", ONLY_LIVES)
def test_only_a_life_finds_it(name):
    """Finds a fault for which other properties hold, and reduces the life to a few steps of few rows."""
    ops = bound(name, operators(ONLY_LIVES[name]()))
    for invariant, strategy in OTHERS.items():
        assert first_violation(ops, invariant, strategy, examples=20) is None
    found = run_lives(ops, 60)
    assert found is not None
    tries = 0

    def failing(case: Life) -> Any:
        nonlocal tries
        tries += 1
        try:
            history.life(ops, case)
        except Violation as violation:
            return violation.case
        return None

    smallest = reduced(found.case, failing)  # type: ignore[arg-type]  # it is given lives
    work = [rows for step in smallest.steps if isinstance(step, Step) for rows in step.work]
    assert tries <= 200
    assert len(smallest.steps) <= 6
    assert sum(rows.count for rows in work) <= smallest.geometry.W + 6


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_public_bug_is_caught(name):
    """Holds for the plain candidate, and is violated by a kernel with the bug."""
    case = scenario(name, DTYPE)
    history.public_bugs(bound("plain", plain), case)
    with pytest.raises(Violation) as caught:
        history.public_bugs(bound(name, CAUGHT[name]()), case)
    assert caught.value.property_name == "history.public_bugs"


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((Free(),), "sequence 0 does not live; sequences [] do"),
        ((Admit(), Free(), Step()), "sequence 0 does not live; sequences [] do"),
        (
            (Admit(), Fork(0, 1)),
            "sequence 0 cannot be forked at position 1: it has 0 positions in the cache, in blocks []",
        ),
        ((Admit(), Step((Rows(), Rows()))), "sequence 0 is in one forward twice: Step(work=(Rows(), Rows()))"),
        ((Admit(), Step((Rows(count=9),))), "Rows(count=9) leads to position 9 of 8"),
        ((Admit(), Step((Rows(count=5),))), "the cache is full: sequence 0 needs blocks for 5 positions"),
        ((Admit(), Step((Rows(rejected=2),))), "Rows(rejected=2) leads to position 1 of 8"),
        ((WarmUp(0),), "a dummy forward has a row at least: WarmUp(rows=0)"),
    ],
)
def test_a_step_that_cannot_be_done(steps, words):
    """Says in one line what is wrong with it."""
    with pytest.raises(ValueError, match=re.escape(words)):
        life_edges(Life(Geometry(N=1, W=4), steps, blocks=4))


def test_blocks_come_and_go():
    """Shares whole blocks, copies the last part, frees what nobody holds, and keeps preempted blocks for last."""
    books = Books(Life(Geometry(N=2, W=3), blocks=6))
    for step in (Admit(), Step((Rows(count=5),)), Fork(0, 5)):
        books.apply(step)
    parent, child = books.sequences
    assert (parent.blocks, child.blocks, books.copied) == ([5, 4, 3], [5, 4, 2], (3, 2))
    books.apply(LetGo(0))  # position 2 is the oldest that a row still has a tap at
    assert (parent.blocks, books.pool.free) == ([None, 4, 3], [0, 1])
    books.apply(Free(0))
    assert books.pool.free == [0, 1, 3]
    books.apply(Preempt(1))
    assert (child.cached, child.known, child.blocks) == (0, 5, [])
    assert books.pool.free == [5, 4, 2, 0, 1, 3]
    books.apply(Step((Rows(1, 3),)))
    assert child.blocks == [3, 1]


def test_a_life_is_reduced_to_what_fails():
    """Finds the two steps that matter among many, and numbers what is left anew."""
    steps = (
        Admit(), Step((Rows(count=3),), pads=2), Admit(is_poisoned=True), Step((Rows(1, 4), Rows())), Fork(1, 2),
        Step((Rows(2, 3), Rows(1))), Free(0), LetGo(1), Preempt(2), WarmUp(3, 2), Step((Rows(2, 2),)), Free(1),
    )  # fmt: skip  # a life reads better in rows
    case = Life(Geometry(H=2, ws=3, N=4, W=4, D=8), steps, kv=2, layers=2, block_seed=3, seed=7)

    def failing(one: Life) -> Life | None:
        has_preempted = any(isinstance(step, Preempt) for step in one.steps)
        return one if has_preempted else None

    assert reduced(case, failing) == Life(Geometry(W=2), (Admit(), Preempt()))


def test_a_failing_life_is_told(tmp_path):
    """Judges a candidate that keeps old blocks: exit code 1, the life reduced, and how to see it again."""
    path = tmp_path / "old.py"
    path.write_text(
        "from tests.meta.candidates.faults_lives import OldBlocks\n"
        "fused_sconv, sconv_seq_metadata = OldBlocks().fused_sconv, OldBlocks().sconv_seq_metadata\n"
    )
    # of one seed: a life that is met elsewhere may be reduced to another one as small as it gets
    options = ("-p", "no:cacheprovider", "--hypothesis-seed", "1", "--candidate", str(path))
    code, printed = called(*options, "tests/test_history.py::test_life[bf16]")
    assert code == 1
    assert re.search(r"Violation: out\[step 3, .*\[history\.life\]", printed)
    life = re.search(r"Failing case: (Life\(.*\))", printed)
    assert life
    assert len(eval(life[1], vars(cases) | vars(lives)).steps) == 4
    assert "Traceback" not in printed
    assert replay.main([str(path), "history.life", life[1], "--engine", "ttir"]) == 1


def test_what_is_not_seen_again(tmp_path):
    """Tells a violation that does not recur in the same life as what it is, without a traceback."""
    path = tmp_path / "once.py"
    path.write_text(
        "from itertools import count\n"
        "from tests.meta.candidates.plain import Plain, sconv_seq_metadata\n"
        "class Once(Plain):\n"
        "    calls = count(1)\n"
        "    def finish(self, step, out):\n"
        "        return out + 1 if next(self.calls) == 50 else out\n"
        "fused_sconv = Once().fused_sconv\n"
    )
    # of one seed: a life that is met elsewhere may be reduced to another one as small as it gets
    options = ("-p", "no:cacheprovider", "--hypothesis-seed", "1", "--candidate", str(path))
    code, printed = called(*options, "tests/test_history.py::test_life[bf16]")
    assert code == 1
    assert "Failing case: Life(" in printed
    assert "Not seen again in the same case: " in printed
    assert "Traceback" not in printed
