"""Cache: what is stored, what may be written, what may be read."""

from __future__ import annotations

import pytest

from properties import pinned, pinned_edges
from properties.contract import ACTIVATIONS
from properties.invariants import cache
from properties.strategies import forwards

pytestmark = pytest.mark.cache


def test_stores_inputs(judged, dtype):
    """Finds every input at its slot."""
    drawn = forwards(dtype, ("exact", "tiny", "huge"), ACTIVATIONS)
    judged(cache.stores_inputs, drawn, *pinned.forwards(dtype), *pinned_edges.forwards(dtype))


def test_write_frame(judged, dtype):
    """Compares all memory that the call could reach."""
    judged(cache.write_frame, forwards(dtype, activations=ACTIVATIONS), *pinned_edges.forwards(dtype))


def test_read_frame(judged, dtype):
    """Puts NaN wherever no tap may look."""
    judged(cache.read_frame, forwards(dtype, activations=ACTIVATIONS), *pinned_edges.forwards(dtype))


def test_table_frame(judged, dtype):
    """Puts garbage into every table entry that no window needs."""
    judged(cache.table_frame, forwards(dtype, activations=ACTIVATIONS), *pinned_edges.forwards(dtype))


def test_process_frame(judged, dtype):
    """Reads what belongs to the whole process before and after."""
    judged(cache.process_frame, forwards(dtype, activations=ACTIVATIONS), *pinned_edges.forwards(dtype), share=0.5)
