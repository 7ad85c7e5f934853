"""Sizes: extreme ones give what small ones give."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from properties import pinned, pinned_edges, tiles
from properties.invariants import sizes
from properties.size_strategies import (
    far_forwards,
    long_forwards,
    many_rows,
    metadata_many_rows,
    tile_forwards,
    tile_metadata,
)

pytestmark = pytest.mark.sizes


def test_far_blocks(judged, dtype):
    """Puts the cache's blocks beyond 2^31 elements."""
    judged(sizes.far_blocks, far_forwards(dtype), *pinned_edges.far_forwards(dtype), share=0.25)


def test_far_table(judged, dtype):
    """Puts rows of the block table beyond 2^31 elements."""
    judged(sizes.far_table, far_forwards(dtype, "table"), *pinned_edges.far_forwards(dtype, "table"), share=0.25)


def test_far_heads(judged, dtype):
    """Puts heads beyond 2^31 elements."""
    judged(sizes.far_heads, far_forwards(dtype, "heads"), *pinned_edges.far_forwards(dtype, "heads"), share=0.25)


def test_far_weights(judged, dtype):
    """Puts taps or channels of the weight beyond 2^31 elements."""
    drawn = st.one_of(far_forwards(dtype, "taps"), far_forwards(dtype, "channels"))
    pins = [*pinned_edges.far_forwards(dtype, "taps"), *pinned_edges.far_forwards(dtype, "channels")]
    judged(sizes.far_weights, drawn, *pins, share=0.25)


def test_far_rows(judged, dtype):
    """Puts rows of x beyond 2^31 elements."""
    judged(sizes.far_rows, far_forwards(dtype, "rows"), *pinned_edges.far_forwards(dtype, "rows"), share=0.25)


def test_tile_edges(judged, ops):
    """Counts rows and channels around the candidate's tiles."""
    found = tiles.of_fused_sconv(ops)
    judged(sizes.tile_edges, tile_forwards(found), *pinned.tile_forwards(found))


def test_metadata_tile_edges(judged, ops):
    """Counts rows and requests around the candidate's tiles."""
    found = tiles.of_metadata(ops)
    judged(sizes.metadata_tile_edges, tile_metadata(found), *pinned.tile_metadata(found))


def test_long_forwards(judged, dtype):
    """Puts prompts of hundreds of rows among other requests."""
    judged(sizes.long_forwards, long_forwards(dtype), *pinned_edges.long_forwards(dtype), share=0.25)


def test_many_rows(judged):
    """Passes what a grid's second and third axis hold."""
    judged(sizes.many_rows, many_rows(), *pinned.many_rows(), share=0.25)


def test_metadata_many_rows(judged):
    """The same for the metadata."""
    judged(sizes.metadata_many_rows, metadata_many_rows(), *pinned.metadata_many_rows(), share=0.25)
