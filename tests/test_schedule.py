"""Schedule: how a sequence is cut into forwards changes nothing."""

from __future__ import annotations

import pytest

from properties import pinned_edges
from properties.invariants import schedule
from properties.strategies import schedules

pytestmark = pytest.mark.schedule


def test_any_cut(judged, dtype):
    """Cuts a prompt into chunks, some shorter than the window."""
    judged(schedule.any_cut, schedules(dtype), *pinned_edges.schedules(dtype))


def test_windows(judged, dtype):
    """Runs one token at a time, and verify windows."""
    judged(schedule.windows, schedules(dtype), *pinned_edges.schedules(dtype))


def test_rollback(judged, dtype):
    """Drafts, keeps some, and goes on."""
    judged(schedule.rollback, schedules(dtype), *pinned_edges.schedules(dtype))


def test_repeated(judged, dtype):
    """Runs every forward twice."""
    judged(schedule.repeated, schedules(dtype), *pinned_edges.schedules(dtype))


def test_preempted(judged, dtype):
    """Frees a sequence's blocks, lets a stranger use them, and recomputes."""
    judged(schedule.preempted, schedules(dtype), *pinned_edges.schedules(dtype))
