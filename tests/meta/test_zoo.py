"""The zoo: each kernel with a real bug violates the property that must catch it, where the base kernel holds."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from properties import tally
from properties.candidate import load
from properties.engines import choose
from properties.replay import replay
from properties.verdict import Violation
from tests.meta.judging_table import drawn_cases, table
from tests.meta.zoo import ZOO, __main__
from tests.meta.zoo.animal import BASE, Animal, changed
from tests.meta.zoo.classes import CLASSES

ROOT = Path(__file__).parents[2]
DTYPE = "bf16"
every_animal = pytest.mark.parametrize("animal", ZOO.values(), ids=lambda animal: animal.name)


@every_animal
def test_its_smallest_case(animal: Animal, tmp_path: Path):
    """Violates its property, and no other before it, in a case that the base kernel holds."""
    replay(str(BASE), animal.property_name, animal.case, "ttir")
    with pytest.raises(Violation) as caught:
        replay(str(animal.write(tmp_path)), animal.property_name, animal.case, "ttir")
    assert caught.value.property_name == animal.property_name


@every_animal
def test_profile_pr_finds_it(animal: Animal, tmp_path: Path):
    """Is found by as many cases as the profile draws of a property, and by one that the base kernel holds."""
    ops = choose("ttir").bind(load(str(animal.write(tmp_path))))
    judged = table(DTYPE)[animal.found_by or animal.property_name]
    cases = drawn_cases(judged.name, DTYPE, judged.draws("pr"))
    case = next((one for one in cases if violates(ops, animal, judged, one)), None)
    assert case is not None, f"{len(cases)} cases of {judged.name} do not find it"
    tally.COUNTS.clear()
    assert not violates(choose("ttir").bind(load(str(BASE))), animal, judged, case)


def violates(ops: Any, animal: Animal, judged: Any, case: Any) -> bool:
    """Whether the animal's property is violated by a case, be it as a hazard beside the property that is judged."""
    with suppress(Violation):
        judged.invariant(ops, case)
    return tally.COUNTS.get(animal.property_name, tally.Count()).violated > 0


def test_every_class_has_an_animal():
    """Leaves no class of the field notes without a kernel."""
    assert {animal.bug_class for animal in ZOO.values()} == set(CLASSES)


def test_a_change_is_made_in_one_place():
    """Refuses a paragraph that is not there, one that is there twice, and one that stays as it was."""
    text = "def f():\n    # one: thing\n    a = 1\n\n    # two: things\n    b = 2\n\n    # two: more\n    c = 3\n\n"
    assert changed(text, "one", "a = 9\nd = a") == text.replace("a = 1", "a = 9\n    d = a")
    for name, paragraph in (("three", "a = 2"), ("two", "b = 3"), ("one", "a = 1")):
        with pytest.raises(ValueError, match=f"'{name}'"):
            changed(text, name, paragraph)


def test_the_page_is_current():
    """Matches docs/zoo.md with the data."""
    assert (ROOT / "docs/zoo.md").read_text() == __main__.page()


def test_a_kernel_is_written_out(capsys: pytest.CaptureFixture[str]):
    """Prints the kernel of an animal, and one line for a name that is none."""
    assert __main__.main(["pages_of_w"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith('"""One bug: pages are taken to hold W tokens, ')
    assert "tokens = W" in printed
    assert __main__.main(["unicorn"]) == 4
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("ERROR: no kernel 'unicorn'; allowed is one of: base, ")
    assert error.count("\n") == 1
