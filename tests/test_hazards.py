"""Hazards: what no comparison of values can see."""

from __future__ import annotations

import pytest

from properties import pinned_edges
from properties.contract import ACTIVATIONS
from properties.invariants import hazards
from properties.strategies import forwards, metadata

pytestmark = pytest.mark.hazards


def test_fused_sconv(judged, dtype):
    """Watches every access of the convolution."""
    judged(hazards.fused_sconv, forwards(dtype, activations=ACTIVATIONS), *pinned_edges.forwards(dtype))


def test_sconv_seq_metadata(judged):
    """Watches every access of the metadata kernel."""
    judged(hazards.sconv_seq_metadata, metadata(), *pinned_edges.metadata())
