"""Values: every row is what the dense reference says."""

from __future__ import annotations

import pytest

from properties import pinned, pinned_edges
from properties.contract import ACTIVATIONS
from properties.invariants import values
from properties.strategies import forwards, mixed_forwards, numbers

pytestmark = pytest.mark.values


def test_dense_bound(judged, dtype):
    """Holds every row to a bound derived per element."""
    judged(values.dense_bound, numbers(dtype), *pinned.extremes(dtype), *pinned_edges.forwards(dtype, "normal"))


def test_dense_exact(judged, dtype):
    """Holds sums that are exact in fp32 to the last bit."""
    judged(values.dense_exact, forwards(dtype), *pinned.forwards(dtype), *pinned_edges.forwards(dtype))


def test_one_hot_taps(judged, dtype):
    """Reads off the output which input each tap was."""
    drawn = forwards(dtype, ("codes",), residuals=(False,))
    judged(values.one_hot_taps, drawn, *pinned_edges.forwards(dtype, "codes", use_residual=False))


def test_weight_dtypes(judged, dtype):
    """Hands over weights of another dtype."""
    judged(values.weight_dtypes, mixed_forwards(dtype), *pinned_edges.mixed(dtype))


def test_nan_containment(judged, dtype):
    """Puts one NaN or infinity into `x` or the cache."""
    judged(values.nan_containment, forwards(dtype, ("normal",), ACTIVATIONS), *pinned_edges.forwards(dtype, "normal"))


def test_unbiased(judged, dtype):
    """Averages the rounding errors of many elements."""
    judged(values.unbiased, forwards(dtype, ("normal",)), *pinned_edges.forwards(dtype, "normal"))
