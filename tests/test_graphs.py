"""Graphs: replayed on refilled buffers, a captured step gives what it gives eagerly."""

from __future__ import annotations

import pytest

from properties import pinned_edges
from properties.graph_strategies import replays
from properties.invariants import graphs

pytestmark = pytest.mark.graphs


def test_piecewise(judged):
    """Captures each operator alone."""
    judged(graphs.piecewise, replays(mode="piecewise"), *pinned_edges.replays("piecewise"), share=0.5)


def test_full(judged):
    """Captures the four streams of one or two layers as a whole."""
    judged(graphs.full, replays(mode="full"), *pinned_edges.replays("full"), share=0.25)


def test_breakable(judged):
    """Captures a layer in pieces, with an eager stage between."""
    judged(graphs.breakable, replays(mode="breakable"), *pinned_edges.replays("breakable"), share=0.25)
