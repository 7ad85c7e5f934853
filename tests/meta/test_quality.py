"""What is generated: the page of shares is current, nothing is rare, nothing is rejected."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from properties import quality

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/generation.md").read_text()
STRATEGIES = "".join(
    (ROOT / f"properties/{name}.py").read_text() for name in ("strategies", "size_strategies", "graph_strategies")
)
drawn = cache(quality.drawn)


def written(name: str) -> dict[str, str]:
    """The shares that docs/generation.md gives for a strategy."""
    section = PAGE.split(f"## `{name}`")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| (.+) \| ([\d.]+%) \|$", section, re.M))


@pytest.mark.parametrize("name", quality.MEASURED)
def test_nothing_is_rare(name):
    """Draws each feature in at least one of a hundred cases, and rejects at most one try in twenty."""
    assert drawn(name).cases == quality.CASES
    assert drawn(name).rare == {}
    assert drawn(name).rejected <= quality.MOST_REJECTED


@pytest.mark.parametrize("name", quality.MEASURED)
def test_the_page_is_current(name):
    """Matches docs/generation.md with new draws: to the last figure where Hypothesis is the one that it names."""
    shares = {feature: f"{share:.1%}" for feature, share in drawn(name).shares.items()}
    assert list(written(name)) == list(shares)
    if f"Hypothesis {quality.HYPOTHESIS};" in PAGE:
        assert written(name) == shares


def test_no_strategy_filters():
    """Maps every draw to a case: a filter inside a list would show in no count of rejected cases."""
    assert not re.findall(r"\bassume\(|\.filter\(|unique(_by)?=|reject\(", STRATEGIES)


def test_every_strategy_of_cases_is_measured():
    """Measures each function that a test draws cases from."""
    parts = {"geometries", "starts", "lengths", "requests"}  # of which the cases are made
    parts |= {"numbers", "mixed_forwards"}  # forwards of other contents
    parts |= {"tile_forwards", "tile_metadata", "many_rows", "metadata_many_rows"}  # of sizes that are pinned
    assert set(re.findall(r"^def ([a-z]\w*)\(", STRATEGIES, re.M)) - parts == set(quality.MEASURED)
