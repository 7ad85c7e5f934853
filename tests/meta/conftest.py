"""What every test of the judge shares."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def own_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps what is judged and launched in a test of the judge out of the run's own verdicts."""
    monkeypatch.setattr("properties.tally.COUNTS", {})
    monkeypatch.setattr("properties.tally.SKIPPED", {})
    monkeypatch.setattr("properties.configurations.LAUNCHES", {})
    monkeypatch.setattr("properties.surroundings.NOTES", {})
