"""The catalogue page is current, and each of its properties has the test that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from properties import catalogue
from properties.promises import PROMISES
from properties.proved import PROVED_BY

ROOT = Path(__file__).parents[2]
CONTRACT = ROOT.parent / "shared/contract.md"


def test_the_page_is_current():
    """Matches docs/properties.md with the code."""
    assert (ROOT / "docs/properties.md").read_text() == catalogue.page()


@pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda entry: entry.name)
def test_each_property_has_its_test(entry):
    """Finds `test_<name>` in `tests/test_<group>.py`, judging that property."""
    source = (ROOT / catalogue.test_of(entry.name).partition("::")[0]).read_text()
    name = entry.name.split(".")[1]
    judging = "proved" if entry.group == "proof" else "judged"
    assert f"def test_{name}({judging}" in source
    assert f"{judging}({entry.group}.{name}" in source


def test_what_is_proved_is_a_property_and_by_an_obligation():
    """Marks no property that there is not, by no obligation that there is not."""
    names = {entry.name for entry in catalogue.entries()}
    assert set(PROVED_BY) <= names
    assert {f"proof.{one}" for obligations in PROVED_BY.values() for one in obligations} <= names


def test_every_line_of_the_contract_names_a_test():
    """Leaves no line without a property of the catalogue."""
    judged = {name for promise in PROMISES for name in promise.judged_by}
    assert judged == {entry.name for entry in catalogue.entries() if entry.group not in ("baseline", "proof")}
    assert [promise.sentence for promise in PROMISES if not promise.judged_by] == []


@pytest.mark.skipif(not CONTRACT.is_file(), reason=f"compares with {CONTRACT}, which is not here")
def test_the_lines_are_the_contracts():
    """Carries the contract's list word for word."""
    group, lines = "", []
    for line in CONTRACT.read_text().split("## Properties to judge")[1].splitlines():
        if line.startswith("| ") and not line.startswith("| group"):
            named, sentence = (cell.strip() for cell in line.strip("|").split("|"))
            group = named or group
            lines.append((group, sentence))
    assert lines == [(promise.group, promise.sentence) for promise in PROMISES]
