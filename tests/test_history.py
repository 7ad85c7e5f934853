"""History: at every step of a cache's life, outputs and memory are what the full histories say."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis.strategies import just

from properties import pinned_edges
from properties.invariants import history
from properties.rules import Engine
from properties.scenarios import SCENARIOS, scenario

pytestmark = pytest.mark.history


def test_life(judged, dtype):
    """Lives as a serving engine does, over one cache."""
    judged(history.life, partial(Engine, dtype), *pinned_edges.lives(dtype))


@pytest.mark.parametrize("name", SCENARIOS)
def test_public_bugs(judged, dtype, name):
    """Lives the life in which a public bug showed."""
    judged(history.public_bugs, just(scenario(name, dtype)))
