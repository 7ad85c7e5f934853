"""The catalogue of properties as a page: python -m properties.catalogue > docs/properties.md."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from properties import invariants
from properties.promises import PROMISES, Promise
from properties.proved import proved_by
from properties.tally import CATALOGUE, Property


def entries() -> list[Property]:
    """Every property, by group and name, once all invariants are imported."""
    for module in pkgutil.iter_modules(invariants.__path__):
        importlib.import_module(f"properties.invariants.{module.name}")
    return sorted(CATALOGUE.values(), key=lambda entry: entry.name)


def invariant_of(name: str) -> Any:
    """The invariant of a property."""
    group, own = name.split(".")
    return getattr(importlib.import_module(f"properties.invariants.{group}"), own)


def groups() -> set[str]:
    """The groups that have a property."""
    return {entry.group for entry in entries()}


def module_of(group: str) -> str:
    """The module of a group's tests."""
    return "tests.test_proofs" if group == "proof" else f"tests.test_{group}"


def test_of(name: str) -> str:
    """The test of a property, as pytest names it."""
    group, own = name.split(".")
    return f"{module_of(group).replace('.', '/')}.py::test_{own}"


def _tests(promise: Promise) -> str:
    return "<br>".join(f"`{test_of(name)}`" for name in promise.judged_by) or "*not judged yet*"


def page() -> str:
    """The catalogue in Markdown: every property with its test and needs, then the contract's list with its tests."""
    lines = [
        "# Properties",
        "",
        "Written by `python -m properties.catalogue`; a test keeps it current. A property whose cases reached less",
        "than the last column says is *not judged*. *Tested* is a property that cases judge; *proved* is what follows",
        "from [obligations](proofs.md) for every batch of a geometry, as far as they are proved of the candidate.",
        "",
        "| property | what must hold | shown | test | engines | needs a case with |",
        "|---|---|---|---|---|---|",
    ]
    for entry in entries():
        engines = "ttir" if entry.needs_hazards else "all"
        needs = ", ".join(sorted(entry.needs))
        shown = proved_by(entry.name)
        lines.append(f"| `{entry.name}` | {entry.sentence} | {shown} | `{test_of(entry.name)}` | {engines} | {needs} |")
    lines += [
        "",
        "## The contract's list",
        "",
        "Each line of the contract's list of properties, with the tests that judge it together.",
        "",
        "| group | line of the contract | tests |",
        "|---|---|---|",
    ]
    lines += [f"| {one.group} | {one.sentence} | {_tests(one)} |" for one in PROMISES]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
