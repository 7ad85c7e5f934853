"""What a failure says where a right load meets a wrong store, a race, a clamped address or another activation."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import torch

from properties import origins
from properties.calls import Call
from properties.cases import Forward, Geometry, Request
from properties.found_words import wrong_taps
from properties.invariants import cache, history, values
from properties.probing import Probe
from properties.reproducer.making import file_name
from properties.scenarios import scenario
from properties.tensors import build
from properties.verdict import Violation
from tests.meta import telling
from tests.meta.candidates.faults import faulty
from tests.meta.candidates.plain import Plain, Step
from tests.meta.judging_table import bound
from tests.meta.test_explain_kernels import ADDED, told
from tests.meta.test_lives import CAUGHT
from tests.meta.upstream_faults import UPSTREAM, change

on_upstream = pytest.mark.skipif(not UPSTREAM.is_file(), reason=f"judges {UPSTREAM}, which is not here")
CACHED = "tl.load(cbase, mask=c_mask[None, :] & cached[:, None], other=0.0).to(tl.float32)"
OUT = "        out_ptr + toff[:, None] * stride_x_t + coff[None, :],"
TWO = Forward(Geometry(ws=2, W=2, D=2), (Request(length=2),))


@on_upstream
@pytest.mark.parametrize(
    ("instead", "words"),
    [
        (OUT.replace("toff[", "(T - 1 - toff)["), "the result of row 1 was stored to row 0"),
        (OUT.replace("coff[", "(C - 1 - coff)["), "the result of channel 1 was stored to channel 0"),
    ],
)
@pytest.mark.parametrize("use_residual", [True, False])
def test_a_store_that_goes_elsewhere_is_named_by_its_line(instead, words, use_residual, tmp_path):
    """Accuses the store, not the loads, which have read what their own row needs."""
    case = Forward(TWO.geometry, TWO.requests, use_residual=use_residual)
    found = told(change(tmp_path, OUT, instead), case)
    assert words in found.but
    assert ": tl.store(out_ptr" in found.at


@on_upstream
def test_a_row_that_is_stored_to_another_slot_is_followed(tmp_path):
    """Says where the row went that is missing in its slot, and names the line that stored it there."""
    line = "    tl.store(dst, xv, mask=tc_mask & valid[:, None])"
    path = change(tmp_path, line, f"    dst += ((safe_slot + 1) % N - safe_slot % N)[:, None] * stride_c_n\n{line}")
    found = told(path, Forward(Geometry(N=4)), cache.stores_inputs)
    assert "it holds what it held before; x[0] channel 0 was stored to block 0, head 0, offset 1, d 0 inst" in found.but
    assert ": tl.store(dst, xv" in found.at


@on_upstream
def test_a_load_from_elsewhere_is_no_store(tmp_path):
    """Accuses the load where the row itself was read from the wrong place: its slot holds another row then."""
    line = "        x_ptr + safe_row[:, None] * stride_x_t + coff[None, :],"
    own = "xv = tl.load(x_ptr + toff[:, None] * stride_x_t"
    path = change(tmp_path, own, own.replace("toff[", "(T - 1 - toff)["))
    text = path.read_text()
    assert text.count(line.strip()) == 1
    path.write_text(text.replace(line.strip(), line.strip().replace("safe_row[", "(T - 1 - safe_row)[")))
    found = told(path, Forward(Geometry(W=1), (Request(length=2),)))
    assert "tap 0 came from x[1], meant x[0]" in found.but
    assert "tl.load(" in found.at


@on_upstream
def test_an_element_that_nobody_stores_has_the_line_of_the_store(tmp_path):
    """Names the line that stores elsewhere or is masked off, where an element is memory that nobody has written."""
    masked = change(tmp_path, "        mask=tc_mask,\n    )", "        mask=tc_mask & (toff > 0)[:, None],\n    )")
    assert told(masked, TWO).at.endswith("(masked off)")
    elsewhere = change(tmp_path, OUT, OUT.replace("toff[", "tl.minimum(toff + 1, T - 1)["))
    found = told(elsewhere, TWO)
    assert ": tl.store(out_ptr" in found.at
    assert found.at.endswith("(elsewhere)")


@on_upstream
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("acc += (xt + cv) * wv[None, :]", "tap 0 (block 0 offset 0) counts twice, tap 1 (x[0]) counts twice; "),
        (f"acc += {CACHED} * wv[None, :]", "tap 0 (block 0 offset 0) counts twice; "),
    ],
)
def test_a_tap_that_counts_twice_is_no_wrong_load(more, words, tmp_path):
    """Says how often a tap counts, and accuses no line of a load that reads the right place once."""
    found = told(change(tmp_path, ADDED, f"{ADDED}\n        {more}"), Forward(Geometry(W=2), (Request(start=1),)))
    assert found.but.startswith(words)
    assert not found.at


class ReadsBack(Plain):
    """Takes every tap from the cache, once the rows are stored; the first `late` calls store afterwards, as a race."""

    late = 0

    def sum_taps(self, step: Step, weight: torch.Tensor) -> torch.Tensor:
        self.late -= 1
        if self.late < 0:
            self.store(step, step.x)
        return super().sum_taps(step, weight)

    def comes_from_x(self, step: Step, age: int) -> torch.Tensor:
        return self.has_taps(step) & (step.row == step.row - age)


def violated(candidate: Any, case: Any, invariant: Any = values.dense_exact) -> Violation:
    """The violation of a property by a candidate on the host, explained."""
    with pytest.raises(Violation) as caught:
        invariant(bound("candidate", telling.operators(candidate)), case)
    return caught.value.explain()


def test_a_raced_read_of_the_right_value_is_not_right():
    """Names the slot that a tap is read from, though the forward had stored the meant row there before."""
    call = Call.of(build(Forward(Geometry(W=2, N=4), (Request(length=2),))))
    with Probe(bound("candidate", telling.operators(ReadsBack())).rerun, call, 1, 0).set_up() as probe:
        probe.again()
        found = origins.find(probe)
    assert [one.is_wrong for one in found.taps] == [True, False]
    assert "tap 0 came from block 0 offset 0 (the slot of x[0], which this forward stores), meant x[0]" in wrong_taps(
        found, 0
    )


def test_a_race_that_goes_well_the_next_time_is_named():
    """Names the tap that was read where the forward stores, when the same call alone gives the right value."""
    candidate = ReadsBack()
    candidate.late = 1
    found = violated(candidate, Forward(Geometry(W=2, N=4), (Request(length=2),)))
    assert "which is right only because a store came before a load: tap 0 came from block " in found.but
    assert "(the slot of x[0], which this forward stores), meant x[0]" in found.but


class ClampsToTheRequest(Plain):
    """Repeats the request's first row in place of taps before it."""

    def tap(self, step: Step, age: int) -> torch.Tensor:
        is_none = (step.position < age) & self.has_taps(step)
        return torch.where(is_none[:, None], step.x[step.first_row], super().tap(step, age))


class ClampsToTheBatch(Plain):
    """Repeats the first row of all in place of taps before a request."""

    def tap(self, step: Step, age: int) -> torch.Tensor:
        is_none = (step.position < age) & self.has_taps(step)
        return torch.where(is_none[:, None], step.x[:1], super().tap(step, age))


@pytest.mark.parametrize(
    ("candidate", "requests", "words"),
    [
        (ClampsToTheRequest(), (Request(), Request(length=2)), "as if the row were clamped to 0, the request's first"),
        (ClampsToTheRequest(), (Request(start=3), Request(length=2)), "as if the row were clamped to 1, the request's"),
        (
            ClampsToTheBatch(),
            (Request(start=3), Request(length=2)),
            "as if the row were clamped to 0, the first of all",
        ),
        (faulty("taps_before_start"), (Request(),), "as if the position were clamped to 0"),
    ],
)
def test_clamped_taps_are_named(candidate, requests, words):
    """Says that clamping gives the row that a tap came from, which should be none."""
    with pytest.raises(Violation) as caught:
        values.dense_exact(bound("candidate", telling.operators(candidate)), Forward(Geometry(W=2), requests))
    assert words in caught.value.explain().but


class Activated(Plain):
    """Applies a function of its own."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def activate(self, total: torch.Tensor, activation: str | None) -> torch.Tensor:
        return total if activation is None else self.function(total)


def silu(total: torch.Tensor) -> torch.Tensor:
    """What should be applied."""
    return total * torch.sigmoid(total)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda one: silu(silu(one)), "but the activation is applied twice"),
        (
            lambda one: one * torch.sigmoid(1.7 * one),
            "but the activation is x * sigmoid(1.7 * x), which should be x * ",
        ),
        (lambda one: one * torch.sigmoid(-one), "but the activation is x * sigmoid(-1 * x), which should be "),
        (lambda one: silu(one) * torch.sigmoid(one), "but the activation is x * sigmoid(x) ** 2"),
        (torch.tanh, "but the activation is tanh"),
        (lambda one: silu(one).clamp(max=0.5), "but the activation makes 0.5 of 2, but should make 1.762"),
    ],
)
@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_another_activation_is_named(function, words, dtype):
    """Says what is applied in place of the SiLU, or what it makes of a known sum."""
    case = Forward(Geometry(W=2, ws=8, D=8, dtype=dtype), contents="normal", activation="silu")
    assert words in violated(Activated(function), case, values.dense_bound).but


@pytest.mark.parametrize(
    ("activation", "use_residual", "words"),
    [
        (None, True, "tap 1 is x[0]; x[0] is added to their weighted sum"),
        ("silu", True, "tap 1 is x[0]; x[0] is added to the SiLU of their weighted sum"),
        ("silu", False, "tap 1 is x[0]; it is the SiLU of their weighted sum"),
        (None, False, "tap 1 is x[0]"),
    ],
)
def test_what_becomes_of_the_sum_is_told(activation, use_residual, words):
    """Says after the taps which input is added, and whether the activation comes before."""
    case = Forward(Geometry(W=2), contents="normal", activation=activation, use_residual=use_residual)
    ops = bound("taps_reversed", faulty("taps_reversed"))
    with pytest.raises(Violation) as caught:
        values.dense_bound(ops, case)
    assert caught.value.then.endswith(words)


@pytest.mark.parametrize(
    ("seed", "words"), [(0, "; block 0 offset 0, head 0, d 0 (channel 0) is NaN"), (1, "; x[0] (channel 0) is NaN")]
)
def test_the_poisoned_input_is_told(seed, words):
    """Names the one input that is not finite, which all outputs but its own must not feel."""

    class Leaks(Plain):
        def round(self, result: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
            return super().round(result + 0 * result.sum(), dtype)

    case = Forward(Geometry(W=2), (Request(start=1), Request(start=1)), contents="normal", seed=seed)
    assert violated(Leaks(), case, values.nan_containment).let.endswith(words)


def test_values_alone_accuse_neither_weights_nor_inputs():
    """Says that either may be wrong, where no loads are seen."""
    found = violated(faulty("taps_reversed"), Forward(Geometry(W=2), (Request(start=1),)))
    assert "tap 0 (block 0 offset 0) is multiplied by weight column 1, not 0, tap 1 (x[0]) is " in found.but
    assert ": either wrong weights or wrong inputs are read, values alone do not tell which; " in found.but


@pytest.mark.parametrize("name", CAUGHT)
def test_a_public_bug_has_its_name(name):
    """Says which bug's life fails, as long as what is left of it tells that."""
    case = scenario(name, "bf16")
    with pytest.raises(Violation) as caught:
        history.public_bugs(bound(name, CAUGHT[name]()), case)
    assert re.match(rf"public bug [1-9], {name}: ", caught.value.let)


def test_a_public_bug_has_a_script_of_its_own():
    """Has its name in the script's, as long as what is left of its life tells which one it is."""
    whole = scenario("recycled_nan", "fp16")
    names = [file_name("history.public_bugs", case) for case in (whole, replace(whole, steps=()))]
    assert names == ["repro_history_public_bugs_recycled_nan.py", "repro_history_public_bugs.py"]
