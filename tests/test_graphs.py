"""Graphs: replayed on refilled buffers, a captured step gives what it gives eagerly."""

from __future__ import annotations

import pytest

from properties.graph_strategies import replays
from properties.invariants import graphs

pytestmark = pytest.mark.graphs


def test_piecewise(judged):
    """Captures each operator alone."""
    judged(graphs.piecewise, replays(mode="piecewise"), share=0.5)


def test_full(judged):
    """Captures the four streams of one or two layers as a whole."""
    judged(graphs.full, replays(mode="full"), share=0.25)


def test_breakable(judged):
    """Captures a layer in pieces, with an eager stage between."""
    judged(graphs.breakable, replays(mode="breakable"), share=0.25)
