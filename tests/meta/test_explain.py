"""What a failure says: each fault's text names its cause, probing sees where taps come from and leaves no trace."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
import torch

from properties.arithmetic import fitting, tap_values
from properties.calls import Call
from properties.candidate import load
from properties.cases import Forward, Geometry, Request
from properties.contents import bits
from properties.engines import choose
from properties.explain import named_blocks
from properties.invariants import values
from properties.invariants.run import near
from properties.probing import Probe
from properties.scenarios import SCENARIOS
from properties.tensors import build
from properties.ttir.hazard import source_line
from properties.ttir.program import Location
from properties.verdict import Violation
from tests.meta import telling
from tests.meta.candidates import plain
from tests.meta.candidates.faults import FAULTS, faulty
from tests.meta.candidates.graph_faults import FAULTS as GRAPH_FAULTS
from tests.meta.candidates.plain import Plain, Step
from tests.meta.judging_table import bound, table, violation
from tests.meta.telling_words import WORDS
from tests.meta.test_graph_faults import bound as graph_bound
from tests.meta.test_graph_faults import seen
from tests.meta.upstream_faults import UPSTREAM, UPSTREAM_FAULTS, changed

# Of the faults on the host, the one of each kind of cause, and of the changed upstream files those that values show:
# `python -m tests.meta.telling` tells all of them.
HOST = [name for name in FAULTS if WORDS[name] and FAULTS[name].dtype != "fp32"]
ON_MACHINE = [name for name in UPSTREAM_FAULTS if "32-bit" not in name]
CASE = Forward(Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8), (Request(5, 2), Request(9, 1)), block_seed=3)


def first_of(ops: Any, groups: set[str], dtype: str) -> Violation | None:
    """The first violation among a few cases of each property of these groups, as it was drawn."""
    names = [name for name, judged in table(dtype).items() if judged.group in groups]
    return next(filter(None, (violation(ops, name, dtype, count=60) for name in names)), None)


def check(name: str, found: Violation | None) -> None:
    """The violation, explained in less than a second, names the cause of the fault."""
    assert found is not None
    begin = time.process_time()
    found.explain()
    assert time.process_time() - begin < 3, "an explanation takes about a second at most; large cases are cut off at 2"
    assert telling.names_cause(name, found), f"{WORDS[name]} are not all in\n{found}"


def test_every_fault_has_its_words(tmp_path):
    """Lists what each fault of the judge's tests must say, or that it cannot; nine of ten must."""
    every = [name for name, _ in telling.every(tmp_path)]
    assert set(every) <= set(WORDS)
    assert sum(bool(WORDS[name]) for name in every) >= 0.9 * len(every)


@pytest.mark.parametrize("name", HOST)
def test_a_fault_on_the_host_is_named(name):
    """Names the tap, the slot, the row or the computation."""
    check(name, first_of(bound(name, faulty(name)), {FAULTS[name].group}, FAULTS[name].dtype))


@pytest.mark.skipif(not UPSTREAM.is_file(), reason=f"judges {UPSTREAM}, which is not here")
@pytest.mark.parametrize("name", ON_MACHINE)
def test_a_fault_of_a_kernel_is_named_by_its_line(name, tmp_path):
    """Names the source line of the access beside it."""
    ops = choose("ttir").bind(load(str(changed(name, tmp_path))))
    check(f"upstream: {name}", first_of(ops, UPSTREAM_FAULTS[name][2], "bf16"))


@pytest.mark.parametrize(("fault", "mode"), [(fault, modes[0]) for fault, modes in GRAPH_FAULTS.items()])
def test_a_fault_of_a_replay_is_named(fault, mode):
    """Names the line that asks the host, the frozen number, the stale output, or the row that was stored."""
    check(f"graph: {fault.__name__}", seen(graph_bound("ttir", fault()), mode))


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_public_bug_is_named(name):
    """Names the slot, the tap or that something was kept."""
    check(f"public bug: {name}", telling.of_scenario(name))


class Sums(Plain):
    """Adds the row before to the oldest tap."""

    def tap(self, step: Step, age: int) -> torch.Tensor:
        found = super().tap(step, age)
        return found + step.x.roll(1, 0) if age == step.W - 1 else found


class OtherChannel(Plain):
    """Takes the newest tap from the next channel."""

    def tap(self, step: Step, age: int) -> torch.Tensor:
        found = super().tap(step, age)
        return found.roll(-1, 1) if age == 0 else found


class WeightOfNeighbour(Plain):
    """Multiplies by the weights of the next channel."""

    def tap_weight(self, weight: torch.Tensor, k: int) -> torch.Tensor:
        return super().tap_weight(weight, k).roll(-1, 0)


class Clamped(Plain):
    """Takes no tap above 50, which lies among the codes."""

    def tap(self, step: Step, age: int) -> torch.Tensor:
        return super().tap(step, age).clamp(max=50)


class HalfResidual(Plain):
    """Adds half of the row's input."""

    def add_residual(self, step: Step, activated: torch.Tensor) -> torch.Tensor:
        return activated + 0.5 * step.x.float()


class Biased(Plain):
    """Adds 1 to every result."""

    def round(self, result: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return super().round(result + 1, dtype)


def probed(candidate: Plain) -> Violation:
    """The violation of the exact values by one case, explained."""
    with pytest.raises(Violation) as caught:
        values.dense_exact(bound("candidate", telling.operators(candidate)), CASE)
    return caught.value.explain()


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        (Sums(), "tap 0 came from the sum of x[2] (request 1's) and block"),
        (OtherChannel(), "tap 3 came from x[0] (channel 1), meant channel 0"),
        (WeightOfNeighbour(), "is multiplied by weight column 0 of channel 1, not of channel 0"),
        (Clamped(), "but each tap gives 50 for an input of 128 and a weight of 1; what came"),
        (Biased(), "with all weights 0 and no residual, inputs of 0 give 1; "),
        (HalfResidual(), "has its weight, but with all weights 0 and the residual, inputs of 1 give 0.5; what came"),
    ],
)
def test_probing_tells_sums_channels_and_weights(candidate, words):
    """Decodes what a one-hot weight multiplies, also several elements at once, and which weight it is."""
    assert words in probed(candidate).but


class RoundedThroughHalf(Plain):
    """Rounds to float16 on the way."""

    def round(self, result: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return super().round(result.half().float(), dtype)


def test_a_rounding_is_not_named_by_chance():
    """Names no computation that gives one element by chance and not what comes out of other numbers."""
    case = Forward(Geometry(W=2), (Request(start=1),), contents="normal")
    with pytest.raises(Violation) as caught:
        values.dense_bound(bound("candidate", telling.operators(RoundedThroughHalf())), case)
    found = caught.value
    batch = build(case)
    call = Call.of(batch)
    got = torch.tensor([[float(str(found.got))]], dtype=torch.bfloat16)
    assert fitting(call, tap_values(call), got, torch.ones(1, 1, dtype=torch.bool))[0]
    assert "but the arithmetic is another: what came out is" in found.explain().but


def test_taps_are_data():
    """Keeps of every tap where it was meant to come from and where it came from."""
    taps = probed(OtherChannel()).taps
    assert [tap.is_wrong for tap in taps] == [False, False, False, True]
    assert taps[3].came is not None
    assert (taps[3].meant.channel, taps[3].came.channel) == (0, 1)
    assert [tap.meant.kind for tap in taps] == ["cache", "cache", "cache", "x"]


def test_what_is_kept_between_calls_is_not_claimed_of_a_tap():
    """Says that the same call alone is right, instead of naming a tap that the probe did not see wrong."""

    class Once(Plain):
        calls = 0

        def finish(self, step: Step, out: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return out + 1 if self.calls == 1 else out

    found = probed(Once())
    assert "which is right: the candidate keeps something between calls, or races" in found.but
    assert not any(tap.is_wrong for tap in found.taps)


def test_probing_finds_every_tap_of_a_right_kernel_right_and_leaves_no_trace():
    """Tells every tap of every row at its place with its own weight, in every dtype, and puts all memory back."""
    for dtype in ("bf16", "fp16", "fp32"):
        case = replace(CASE, geometry=replace(CASE.geometry, dtype=dtype), pads=1, holes=(1,))
        batch = build(case)
        before = {name: guarded.memory.clone() for name, guarded in batch.guarded.items()}
        for row in range(case.T):
            with Probe(bound("plain", plain).rerun, Call.of(batch), row, 4).set_up() as probe:
                probe.again()
                found = probe.find()
            assert found.is_complete
            assert not any(tap.is_wrong for tap in found.taps)
            assert all(tap.weight in (None, (4, tap.index)) for tap in found.taps)
        for name, guarded in batch.guarded.items():
            assert torch.equal(bits(guarded.memory), bits(before[name]))


def test_an_explanation_that_fails_loses_nothing():
    """Keeps the violation and says what went wrong."""

    def broken(violation: Violation) -> None:
        raise RuntimeError("no")

    found = Violation("values.dense_exact", "out", got="1", but="1 of 1 element differs").because(broken).explain()
    assert found.but == "looking for the cause failed: RuntimeError: no; 1 of 1 element differs"


def test_numbers_have_the_digits_that_their_bound_leaves():
    """Shows as many digits of a float64 truth as the bound makes sense of; where the bound is 0, those of the dtype."""
    exact = torch.tensor(3.25660858967e38, dtype=torch.float64)
    assert near(exact, torch.tensor(6.6e35), torch.bfloat16) == "3.2566e+38 within 6.6e+35"
    assert near(exact, torch.tensor(0.0), torch.bfloat16) == "3.257e+38"
    assert near(torch.tensor(torch.inf), torch.tensor(1.0), torch.bfloat16) == "inf within 1"


def test_blocks_are_named_up_to_a_few():
    """Names the blocks of a request, the first ones of many."""
    assert [named_blocks(one) for one in ((), (7,), (7, None, 2))] == ["no blocks", "block 7", "blocks 7, 2"]
    assert named_blocks(range(100)) == "blocks 0, 1, 2, 3, 4, 5, 6, 7 and 92 more"


def test_a_statement_is_told_whole_from_each_of_its_lines(tmp_path):
    """Tells the same of a call over several lines, whichever of them Triton names; of a loop, its head alone."""
    path = tmp_path / "kernel.py"
    path.write_text(
        "for i in range(4):  # taps\n    x = load(\n        p + i,  # of tap i\n        other=0.0,\n    )\n"
    )
    told = [source_line(Location(str(path), line)) for line in (1, 2, 3, 4, 5)]
    assert told == ["for i in range(4):  # taps"] + 4 * ["x = load(p + i, other=0.0)"]


def test_a_run_that_rounds_as_the_right_one_is_not_accused():
    """Accuses of two runs the one whose computation the other cannot have made, whichever is judged."""
    case = Forward(
        replace(CASE.geometry, dtype="fp32"), (Request(5, 4), Request(9, 3)), contents="normal", use_residual=False
    )
    found = {}
    for name in ("block_size_turns_sums", "block_names_turn_sums"):
        with pytest.raises(Violation) as caught:
            table("fp32")["batch." + name.split("_turn")[0]].invariant(
                bound(name, faulty(name)), replace(case, block_seed=3)
            )
        found[name] = caught.value.explain().but
    assert "but the run with N = " in found["block_size_turns_sums"]
    assert "but this run gives " in found["block_names_turn_sums"]
