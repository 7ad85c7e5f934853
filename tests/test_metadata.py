"""Metadata: owners and first rows, as the plain construction gives them."""

from __future__ import annotations

import pytest

from properties import pinned, pinned_edges
from properties.invariants import metadata
from properties.strategies import metadata as calls

pytestmark = pytest.mark.metadata


def test_searchsorted(judged):
    """Compares both buffers, padding and slack included."""
    judged(metadata.searchsorted, calls(), *pinned.metadata(), *pinned_edges.metadata())


def test_refuses(judged):
    """Tries the three calls that must raise ValueError, and the tightest that must not."""
    judged(metadata.refuses, calls(), *pinned_edges.metadata())


def test_process_frame(judged):
    """Reads what belongs to the whole process before and after."""
    judged(metadata.process_frame, calls(), *pinned_edges.metadata(), share=0.5)
