"""Batch: a request's result depends on nothing but the request."""

from __future__ import annotations

import pytest

from properties import pinned_edges
from properties.contract import ACTIVATIONS
from properties.invariants import batch
from properties.strategies import forwards

pytestmark = pytest.mark.batch


def any_forwards(dtype):
    """Forwards of ordinary numbers."""
    return forwards(dtype, ("normal",), ACTIVATIONS)


def test_neighbours(judged, dtype):
    """Runs requests alone, in reverse order, and beside rows of NaN."""
    judged(batch.neighbours, any_forwards(dtype), *pinned_edges.forwards(dtype, "normal"))


def test_block_names(judged, dtype):
    """Renames the physical blocks."""
    judged(batch.block_names, any_forwards(dtype), *pinned_edges.forwards(dtype, "normal"))


def test_block_size(judged, dtype):
    """Doubles the block, and makes it 32 tokens."""
    judged(batch.block_size, any_forwards(dtype), *pinned_edges.forwards(dtype, "normal"))


def test_table_and_pages(judged, dtype):
    """Widens and spreads the table, and pads the pages."""
    judged(batch.table_and_pages, any_forwards(dtype), *pinned_edges.forwards(dtype, "normal"))


def test_shared_prefix(judged, dtype):
    """Gives forks private copies of what they share."""
    judged(batch.shared_prefix, any_forwards(dtype), *pinned_edges.forwards(dtype, "normal"))


def test_head_shards(judged, dtype):
    """Splits the heads as tensor parallelism does."""
    judged(batch.head_shards, any_forwards(dtype), *pinned_edges.forwards(dtype, "normal"))


def test_rows_without_slots(judged, dtype):
    """Takes padding and negative slots away."""
    judged(batch.rows_without_slots, any_forwards(dtype), *pinned_edges.forwards(dtype, "normal"))
