"""Streams: the streams of a layer share a cache and never touch one another."""

from __future__ import annotations

import pytest

from properties import pinned_edges
from properties.invariants import streams
from properties.strategies import streams as layers

pytestmark = pytest.mark.streams


def test_any_order(judged, dtype):
    """Runs the four streams of a layer in a drawn order."""
    judged(streams.any_order, layers(dtype), *pinned_edges.streams(dtype))
