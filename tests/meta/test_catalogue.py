"""The catalogue page is current, and each of its properties has the test that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from properties import catalogue

ROOT = Path(__file__).parents[2]


def test_the_page_is_current():
    """Matches docs/properties.md with the code."""
    assert (ROOT / "docs/properties.md").read_text() == catalogue.page()


@pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda entry: entry.name)
def test_each_property_has_its_test(entry):
    """Finds `test_<name>` in `tests/test_<group>.py`, judging that property."""
    source = (ROOT / f"tests/test_{entry.group}.py").read_text()
    name = entry.name.split(".")[1]
    assert f"def test_{name}(judged" in source
    assert f"judged({entry.group}.{name}," in source
