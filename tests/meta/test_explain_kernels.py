"""What a failure of one changed line of the upstream kernel says: its taps as data, its line, its arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from properties.candidate import load
from properties.cases import Forward, Geometry, Request
from properties.engines import choose
from properties.invariants import cache, values
from properties.verdict import Violation
from tests.meta.upstream_faults import UPSTREAM, change, changed

pytestmark = pytest.mark.skipif(not UPSTREAM.is_file(), reason=f"judges {UPSTREAM}, which is not here")

SHORT = Forward(Geometry(W=2), (Request(), Request(start=1)))
ADDED = "        acc += (xt + cv) * wv[None, :]"


def told(path: Path, case: Forward, invariant: Any = values.dense_bound) -> Violation:
    """The violation of a property by one case of a kernel file, explained."""
    with pytest.raises(Violation) as caught:
        invariant(choose("ttir").bind(load(str(path))), case)
    return caught.value.explain()


def test_a_row_that_is_read_back_is_no_load_of_x(tmp_path):
    """Names the entry that led to the cache, where the forward had stored the row, and draws the tap from there."""
    found = told(changed("the table's first row for all", tmp_path), SHORT, values.dense_exact)
    assert ": blk = tl.load(" in found.at
    assert (
        "tap 0 came from block 0 offset 0 (the slot of x[0], which this forward stores; column 0 of request 0's block "
        "table row), meant block 1 offset 0" in found.but
    )
    came = found.taps[0].came
    assert came is not None
    assert (came.kind, came.block, came.offset) == ("cache", 0, 0)


def test_the_line_is_that_of_the_first_wrong_tap(tmp_path):
    """Names the load that missed the cache of the first tap, which came from nowhere, not the load of a later one."""
    geometry = Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8)
    case = Forward(geometry, (Request(length=4), Request(length=11), Request(start=14)))
    found = told(changed("the table's first row for all", tmp_path), case, cache.table_frame)
    assert "tap 0 came from nowhere, meant block" in found.but
    assert found.at.endswith("(masked off, or outside of the tensor)")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("the activation after the residual", "the activation of the sum with the residual in it, within the bound of"),
        ("negative taps dropped", "but tap 3 gives 0 for an input of -1 and a weight of 1; what came out is "),
        ("the residual of the next channel", "the residual came from x[0] (channel 1), meant channel 0"),
    ],
)
def test_arithmetic_in_fp32_is_named(name, words, tmp_path):
    """Names a computation that rounds otherwise than the judge's own, and what codes, all positive, do not show."""
    geometry = Geometry(ws=16, W=4, D=16, dtype="fp32")
    case = Forward(geometry, contents="normal", activation="silu")
    assert words in told(changed(name, tmp_path), case).but


@pytest.mark.parametrize(
    ("line", "instead", "words", "at"),
    [
        (
            "    if USE_SILU:",
            "    acc *= (pos % 2 == 0)[:, None].to(tl.float32)\n    if USE_SILU:",
            "tap 0 came from nowhere, meant block 1 offset 0, tap 1 came from nowhere, meant x[1]; 1",
            "",
        ),
        (
            ADDED,
            "        acc += xt * wv[None, :] + cv",
            "tap 0 (block 1 offset 0) is added without a weight; 1 of 2",
            "",
        ),
        (
            ADDED,
            ADDED.replace("xt + cv", "xt + cv * wv[None, :]"),
            "every tap comes from its place and has its weight, but tap 0 gives 4 for an input of 1 and a weight of -2",
            "",
        ),
        (
            ADDED,
            ADDED + "\n        acc += xv.to(tl.float32)",
            "x[0] is added 3 times; 2 of 2",
            "mask=tc_mask) (of the sum)",
        ),
        (
            ADDED,
            f"{ADDED}\n        beside = (toff ^ 1)[:, None] * stride_x_t + coff[None, :]"
            "\n        acc += tl.load(x_ptr + beside, tc_mask).to(tl.float32)",
            "x[1] (request 1's) and x[1] (request 1's) are added without a weight",
            ": acc += tl.load(",
        ),
    ],
)
def test_what_was_loaded_is_not_called_masked_off(line, instead, words, at, tmp_path):
    """Says what is done with a tap that was read, and names no line where the fault is none of reading."""
    found = told(change(tmp_path, line, instead), SHORT)
    assert words in found.but
    assert at in found.at
    assert bool(at) == bool(found.at)


@pytest.mark.parametrize(
    ("block", "case", "words"),
    [
        (
            "slot // N",
            Forward(Geometry(W=2), (Request(start=1),)),
            "tap 0 came from block 1 offset 0 (the slot of x[0], which this forward stores), meant block 0 offset 0",
        ),
        (
            "tl.load(slot_ptr + tl.maximum(toff - 1, 0), mask=t_mask, other=0) // N",
            Forward(Geometry(W=4, N=4), (Request(start=5, length=2),)),
            "tap 0 came from block 1 offset 2 (the slot of x[1], which this forward stores), meant block 0 offset 2",
        ),
    ],
)
def test_a_row_that_is_read_back_by_its_slot_is_no_clamped_row(block, case, words, tmp_path):
    """Names the cache and its load where a tap is addressed by a slot, which moves along with it."""
    line = "            + blk[:, None] * stride_c_blk"
    found = told(change(tmp_path, line, f"            + ({block})[:, None] * stride_c_blk"), case)
    assert words in found.but
    assert "clamped" not in found.but
    assert ": cv = tl.load(cbase" in found.at


@pytest.mark.parametrize(
    ("instead", "words", "is_masked"),
    [
        (
            "tl.store(dst + tl.where(slot == 0, stride_c_blk, 0)[:, None], xv, mask=tc_mask & valid[:, None])",
            "; the lane of x[0] channel 0 stored to block 1, head 0, offset 0, d 0 instead; ",
            False,
        ),
        (
            "tl.store(dst, xv, mask=tc_mask & (slot > 0)[:, None])",
            "nothing was stored there: it holds what it held before; 1 of 2 ",
            True,
        ),
    ],
)
def test_only_the_own_lane_of_a_row_is_called_masked_off(instead, words, is_masked, tmp_path):
    """Tells a store that goes elsewhere from one that is masked off, though lanes behind the last row have slot 0."""
    line = "    tl.store(dst, xv, mask=tc_mask & valid[:, None])"
    found = told(change(tmp_path, line, f"    {instead}"), Forward(requests=(Request(length=2),)), cache.stores_inputs)
    assert words in found.but
    assert ": tl.store(dst" in found.at
    assert found.at.endswith("(masked off)") == is_masked


@pytest.mark.parametrize("column", ["tl.minimum(iw + 1, W - 1)", "(W - 1 - iw)"])
def test_a_cached_tap_with_another_weight_came_from_its_place(column, tmp_path):
    """Says which weight a tap got that was read rightly, and names the load of that weight alone."""
    more = f"        wc = tl.load(weight_ptr + coff * stride_w_d + {column} * stride_w_w, c_mask, 0.0).to(tl.float32)"
    instead = f"{more}\n{ADDED.replace('(xt + cv) * wv[None, :]', 'xt * wv[None, :] + cv * wc[None, :]')}"
    found = told(change(tmp_path, ADDED, instead), Forward(Geometry(W=2), (Request(start=1),)))
    assert found.but == "tap 0 (block 0 offset 0) is multiplied by weight column 1, not 0; 1 of 1 element differs"
    assert ": wc = tl.load(weight_ptr" in found.at


def test_exchanged_inputs_are_no_wrong_weights(tmp_path):
    """Accuses neither where each weight is read once, in the order of the taps, and the inputs in another."""
    source = UPSTREAM.read_text()
    for name in ("pos", "toff"):
        assert source.count(f"= {name} - (W - 1) + iw") == 1
        source = source.replace(f"= {name} - (W - 1) + iw", f"= {name} - iw")
    path = tmp_path / "kernel.py"
    path.write_text(source)
    found = told(path, Forward(Geometry(W=2), (Request(start=1),)))
    assert "either wrong weights or wrong inputs are read, values alone do not tell which; 1 of 1" in found.but
    assert not found.at
