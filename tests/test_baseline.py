"""Baseline: the candidate equals the kernel that `--baseline` names; collected only where one is given."""

from __future__ import annotations

import pytest

from properties import pinned, pinned_edges
from properties.contract import ACTIVATIONS
from properties.invariants import baseline
from properties.strategies import forwards, metadata

pytestmark = pytest.mark.baseline


def test_fused_sconv(judged, dtype):
    """Compares outputs and the whole cache."""
    kinds = ("normal", "exact", "wide", "cancel")
    fixed = [*pinned.extremes(dtype), *pinned_edges.forwards(dtype)]
    judged(baseline.fused_sconv, forwards(dtype, kinds, ACTIVATIONS), *fixed)


def test_sconv_seq_metadata(judged):
    """Compares both buffers."""
    judged(baseline.sconv_seq_metadata, metadata(), *pinned.metadata(), *pinned_edges.metadata())
