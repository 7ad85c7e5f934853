"""The catalogue of properties as a page: python -m properties.catalogue > docs/properties.md."""

from __future__ import annotations

import importlib
import pkgutil

from properties import invariants
from properties.tally import CATALOGUE, Property


def entries() -> list[Property]:
    """Every property, by group and name, once all invariants are imported."""
    for module in pkgutil.iter_modules(invariants.__path__):
        importlib.import_module(f"properties.invariants.{module.name}")
    return sorted(CATALOGUE.values(), key=lambda entry: entry.name)


def groups() -> set[str]:
    """The groups that have a property."""
    return {entry.group for entry in entries()}


def page() -> str:
    """The catalogue in Markdown: property, sentence, test, and what its cases must have reached."""
    lines = [
        "# Properties",
        "",
        "Written by `python -m properties.catalogue`; a test keeps it current. A property whose cases reached less",
        "than the last column says is *not judged*.",
        "",
        "| property | what must hold | test | engines | needs a case with |",
        "|---|---|---|---|---|",
    ]
    for entry in entries():
        group, name = entry.name.split(".")
        engines = "ttir" if entry.needs_hazards else "all"
        needs = ", ".join(sorted(entry.needs))
        test = f"tests/test_{group}.py::test_{name}"
        lines.append(f"| `{entry.name}` | {entry.sentence} | `{test}` | {engines} | {needs} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
