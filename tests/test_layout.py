"""Layout: strides and views change nothing."""

from __future__ import annotations

import pytest

from properties import pinned_edges
from properties.contract import ACTIVATIONS
from properties.invariants import layout
from properties.strategies import forwards

pytestmark = pytest.mark.layout


def test_weight_strides(judged, dtype):
    """Hands over views of the weight."""
    judged(layout.weight_strides, forwards(dtype, ("normal",), ACTIVATIONS), *pinned_edges.forwards(dtype, "normal"))


def test_cache_strides(judged, dtype):
    """Puts the heads inside the tokens."""
    judged(layout.cache_strides, forwards(dtype, ("normal",), ACTIVATIONS), *pinned_edges.forwards(dtype, "normal"))


def test_alignment(judged, dtype):
    """Starts every tensor one element late."""
    judged(layout.alignment, forwards(dtype, ("normal",), ACTIVATIONS), *pinned_edges.forwards(dtype, "normal"))


def test_row_stride_of_x(judged, dtype):
    """Hands over a slice of wider rows."""
    judged(layout.row_stride_of_x, forwards(dtype, ("normal",), ACTIVATIONS), *pinned_edges.forwards(dtype, "normal"))
