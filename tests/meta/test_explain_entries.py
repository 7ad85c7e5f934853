"""What a failure says where a kernel reads another row's block table or metadata: whose entry, and its load's line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from properties.cases import Forward, Geometry, Request
from tests.meta.test_explain_causes import on_upstream
from tests.meta.test_explain_kernels import told
from tests.meta.upstream_faults import change

GEOMETRY = Geometry(ws=2, N=4, W=4, off_s=1, D=4)
THREE = Forward(GEOMETRY, (Request(5, 2), Request(9), Request(13, 2)), block_seed=3)
TABLE = "block_table_ptr + req * stride_bt_r + safe_lblk"
NEXT = "tl.minimum(toff + 1, T - 1)"
BEFORE = "tl.maximum(toff - 1, 0)"


@on_upstream
@pytest.mark.parametrize(
    ("instead", "words"),
    [
        ("(req + 1) * stride_bt_r + safe_lblk", "tap 2 came from block 2 offset 0 (request 1's position 4, outside of"),
        ("(req + 1) * stride_bt_r + safe_lblk", "; column 1 of request 1's block table row), meant block 6 offset 0"),
        ("toff * stride_bt_r + safe_lblk", "; column 1 of request 1's block table row), meant block 6 offset 0"),
        (
            "tl.maximum(req - 1, 0) * stride_bt_r + safe_lblk",
            "block 3 offset 0 (request 2's position 12; column 2 of request 0's block table row), meant",
        ),
        (
            "req * stride_bt_r + safe_lblk + 1",
            "(the slot of x[1], which this forward stores; column 1 of its block table row, not column 0)",
        ),
    ],
)
def test_another_entry_of_the_block_table_is_named_with_its_load(instead, words, tmp_path):
    """Says whose row and which column names the block that was read, and accuses the load of the table."""
    found = told(change(tmp_path, TABLE, f"block_table_ptr + {instead}"), THREE)
    assert words in found.but
    assert ": blk = tl.load(block_table_ptr" in found.at


@on_upstream
@pytest.mark.parametrize(
    ("load", "row", "words"),
    [
        ("req = tl.load(seq_idx_ptr + {}, mask=t_mask", NEXT, "; by seq_idx[2], which is row 2's), meant block 6"),
        ("pos = tl.load(pos_ptr + {}, mask=t_mask", BEFORE, "; by positions[0], which is row 0's), meant block 5"),
        (
            "qstart = tl.load(qstart_ptr + {}, mask=t_mask",
            BEFORE,
            "; by query_start[1], which is row 1's), meant block",
        ),
        (
            "slot = tl.load(slot_ptr + {}, mask=t_mask",
            NEXT,
            "tap 0 came from nowhere (by slot_mapping[5], which is row",
        ),
    ],
)
def test_the_metadata_of_another_row_is_named_with_its_load(load, row, words, tmp_path):
    """Says which row's number led to a tap that comes from its place with this row's, and accuses the load of it."""
    case = Forward(GEOMETRY, THREE.requests, pads=1, block_seed=3)
    found = told(change(tmp_path, load.format("toff"), load.format(row)), case)
    assert words in found.but
    assert f": {load[:15]}" in found.at


@on_upstream
def test_a_block_of_rows_without_slots_is_not_called_nobodys(tmp_path):
    """Speaks of rows with slots alone, where others may have the block, as *Let* says."""
    path = change(tmp_path, "in_win = valid & (src >= 0)", "in_win = src >= 0")
    found = told(path, Forward(GEOMETRY, (Request(5, 1),), holes=(0,)))
    assert "window and new rows in blocks 0, 1" in found.let
    assert "tap 0 came from block 0 offset 2 (of no row with a slot), " in found.but


@on_upstream
@pytest.mark.parametrize(
    ("block", "requests", "words"),
    [
        (
            "blk * 0",
            (Request(length=2), Request(start=4)),
            "block 0 offset 3 (request 0's position 3, beyond its last slo",
        ),
        (
            "blk * 0",
            (Request(start=4), Request(start=6)),
            "block 0 offset 0 (request 0's position 0, outside of the win",
        ),
        ("blk * 0 + 4", (Request(start=4),), "block 4 offset 1 (no request's), meant block 0 offset 1"),
    ],
)
def test_a_block_that_a_request_has_is_called_its_own(block, requests, words, tmp_path):
    """Says whose a block is where a token is in no window, and accuses no entry that also names it unread.

    *Let* says the same of which blocks a request has.
    """
    path = change(tmp_path, "+ blk[:, None] * stride_c_blk", f"+ ({block})[:, None] * stride_c_blk")
    case = Forward(GEOMETRY, requests, layout=replace(THREE.layout, spare_blocks=4))
    found = told(path, case)
    assert words in found.but
    assert "block table row" not in found.but
    assert "as if the position were clamped" not in found.but  # which none before the start is here
