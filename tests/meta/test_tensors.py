"""What a caller owes is kept by every generated batch, read off its tensors alone."""

from __future__ import annotations

import torch
from hypothesis import given

from properties.cases import Forward, Geometry, Layout, Metadata, Request
from properties.contents import bits
from properties.strategies import forwards, metadata
from properties.tensors import Batch, build, build_metadata, expected_cache


def read_taps(batch: Batch) -> set[int]:
    """The cache slots that taps of the batch read, through its block table."""
    N, W = batch.case.geometry.N, batch.case.geometry.W
    read = set()
    for row, slot in enumerate(batch.slot_mapping.tolist()):
        first = int(batch.query_start[row])
        start = int(batch.positions[row]) - (row - first)
        if slot >= 0 or row < batch.case.rows:
            for position in range(max(0, int(batch.positions[row]) - W + 1), start):
                block = int(batch.block_table[int(batch.seq_idx[row]), position // N])
                read.add(block * N + position % N)
    return read


@given(forwards("fp32", ("codes",), residuals=(False,)))
def test_every_forward_keeps_the_contract(case):
    """Finds rows, slots, blocks and histories as the contract demands them."""
    batch = build(case)
    N, slots = case.geometry.N, batch.slot_mapping.tolist()
    stored = [slot for slot in slots if slot >= 0]
    assert len(set(stored)) == len(stored)
    assert not read_taps(batch) & set(stored)
    for row in range(case.rows):
        request, first = int(batch.seq_idx[row]), int(batch.query_start[row])
        assert first <= row
        assert int(batch.positions[row]) - int(batch.positions[first]) == row - first
        assert set(batch.seq_idx[first : row + 1].tolist()) == {request}
        if slots[row] >= 0:
            block = int(batch.block_table[request, int(batch.positions[row]) // N])
            assert slots[row] == block * N + int(batch.positions[row]) % N
    padding = slice(case.rows, case.T)
    assert (batch.slot_mapping[padding] < 0).all()
    assert (batch.seq_idx[padding] < len(batch.block_table)).all()
    assert (batch.query_start[padding] < max(1, case.T)).all()
    assert int(batch.slot_mapping.max() if case.T else 0) < len(batch.cache) * N


@given(forwards("bf16", ("codes",), residuals=(False,)))
def test_history_is_where_the_table_says(case):
    """Reads each request's context back through table and cache."""
    batch = build(case, outside="nan", garbage=True)
    geometry = case.geometry
    stream = slice(geometry.off_s, geometry.off_s + geometry.ws)
    for index, request in enumerate(case.requests):
        context = len(batch.inputs[index]) - request.length
        for offset in range(context):
            position = request.start - context + offset
            block = int(batch.block_table[index, position // geometry.N])
            held = batch.cache[block, :, position % geometry.N, stream].reshape(-1)
            assert torch.equal(bits(held.contiguous()), bits(batch.inputs[index][offset]))


@given(forwards("fp16"))
def test_contents_do_not_depend_on_what_lies_outside(case):
    """Gets the same inputs whatever fills the rest of cache and table."""
    plain, strange = build(case), build(case, outside="nan", garbage=True)
    for name in ("x", "weight", "positions", "seq_idx", "slot_mapping", "query_start"):
        assert torch.equal(getattr(plain, name), getattr(strange, name))


def test_a_hand_made_forward():
    """Lays out two requests as worked out by hand: N = 2, W = 3, ascending blocks."""
    geometry = Geometry(H=1, ws=1, N=2, W=3, off_s=1, D=3, dtype="fp32")
    case = Forward(geometry, (Request(3, 2), Request(0, 1)), pads=1, contents="codes", layout=Layout(page_pad=2))
    batch = build(case)
    assert batch.positions[:3].tolist() == [3, 4, 0]
    assert batch.seq_idx[:3].tolist() == [0, 0, 1]
    assert batch.query_start[:3].tolist() == [0, 0, 2]
    # Request 0 touches logical blocks 0 (positions 0, 1), 1 (2, 3) and 2 (4): its window starts at position 1.
    assert batch.block_table[0, :3].tolist() == [0, 1, 2]
    assert batch.block_table[1, 0] == 3
    assert batch.slot_mapping[:3].tolist() == [3, 4, 6]
    assert int(batch.slot_mapping[3]) < 0
    assert batch.cache.shape == (5, 1, 2, 3)
    assert batch.cache.stride() == (8, 6, 3, 1)
    context = batch.inputs[0][:2, 0]
    assert torch.equal(torch.stack([batch.cache[0, 0, 1, 1], batch.cache[1, 0, 0, 1]]), context)


def test_forks_read_the_parents_blocks():
    """Gives a fork the parent's whole blocks below both starts, and the parent's inputs in them."""
    geometry = Geometry(H=1, ws=2, N=2, W=4, off_s=0, D=2, dtype="fp32")
    case = Forward(geometry, (Request(5, 1), Request(4, 2, fork=0)), contents="codes")
    batch = build(case)
    assert batch.block_table[1, 1] == batch.block_table[0, 1]  # positions 2 and 3
    assert batch.block_table[1, 2] != batch.block_table[0, 2]  # position 4 is written by the fork
    assert torch.equal(batch.inputs[1][1:3], batch.inputs[0][:2])


@given(forwards("bf16"))
def test_only_stored_rows_are_expected_to_change_the_cache(case):
    """Expects exactly H * ws elements of each stored row to change at most."""
    batch = build(case)
    changed = int((bits(expected_cache(batch)) != bits(batch.guarded["cache"].before)).sum())
    assert changed <= int((batch.slots >= 0).sum()) * case.geometry.C


@given(metadata())
def test_every_metadata_call_keeps_the_contract(case):
    """Finds a non-decreasing query_start_loc from 0 to the actual count, and buffers large enough."""
    batch = build_metadata(case)
    loc = batch.guarded["query_start_loc"].view[: batch.num_reqs + 1]
    assert loc[0] == 0
    assert loc[-1] == batch.num_actual_tokens
    assert (loc.diff() >= 0).all()
    assert len(batch.guarded["seq_idx_out"].view) == batch.num_padded_tokens + case.slack


def test_a_hand_made_metadata_call():
    """Lays out three requests, the second without rows."""
    batch = build_metadata(Metadata(lengths=(2, 0, 1), padding=2, slack=1))
    assert batch.guarded["query_start_loc"].view.tolist() == [0, 2, 2, 3]
    assert (batch.num_actual_tokens, batch.num_padded_tokens) == (3, 5)
