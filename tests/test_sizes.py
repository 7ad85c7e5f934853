"""Sizes: extreme ones give what small ones give."""

from __future__ import annotations

import pytest

from properties.invariants import sizes
from properties.strategies import far_forwards

pytestmark = pytest.mark.sizes


def test_far_blocks(judged, dtype):
    """Puts the cache's blocks beyond 2^31 elements."""
    judged(sizes.far_blocks, far_forwards(dtype))


def test_far_table(judged, dtype):
    """Puts rows of the block table beyond 2^31 elements."""
    judged(sizes.far_table, far_forwards(dtype, "table"))


def test_far_heads(judged, dtype):
    """Puts heads beyond 2^31 elements."""
    judged(sizes.far_heads, far_forwards(dtype, "heads"))


def test_far_weights(judged, dtype):
    """Puts taps of the weight beyond 2^31 elements."""
    judged(sizes.far_weights, far_forwards(dtype, "taps"))


def test_far_rows(judged, dtype):
    """Puts rows of x beyond 2^31 elements."""
    judged(sizes.far_rows, far_forwards(dtype, "rows"))
