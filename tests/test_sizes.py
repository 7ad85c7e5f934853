"""Sizes: extreme ones give what small ones give."""

from __future__ import annotations

import pytest

from properties.invariants import sizes
from properties.strategies import far_forwards

pytestmark = pytest.mark.sizes


def test_far_blocks(judged, dtype):
    """Puts the cache's blocks beyond 2^31 elements."""
    judged(sizes.far_blocks, far_forwards(dtype))
