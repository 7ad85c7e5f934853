"""Proofs: what holds for every batch of a geometry, as far as it can be shown of the candidate."""

from __future__ import annotations

import pytest

from properties.invariants import proof

pytestmark = pytest.mark.proof


def test_accesses(proved, dtype):
    """Proves every access in bounds."""
    proved(proof.accesses, dtype)


def test_conflicts(proved, dtype):
    """Proves that no two lanes meet."""
    proved(proof.conflicts, dtype)


def test_taps(proved, dtype):
    """Proves every stored value to be the contract's expression."""
    proved(proof.taps, dtype)


def test_wraps(proved, dtype):
    """Proves that no index wraps."""
    proved(proof.wraps, dtype)


def test_metadata(proved):
    """Proves the search for owners."""
    proved(proof.metadata)
