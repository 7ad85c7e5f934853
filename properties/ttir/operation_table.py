"""The table of covered operations in docs/machine.md, from the registry."""

from __future__ import annotations

from . import operations  # noqa: F401  # fills the registry
from .registry import BINDERS, NOTES

BEGIN, END = "<!-- operations: begin -->", "<!-- operations: end -->"


def table() -> str:
    """Returns the table as Markdown, one line for each binder and dialect."""
    groups: dict[tuple[str, object], list[str]] = {}
    for name in sorted([*BINDERS, "arith.constant"]):
        groups.setdefault((name.split(".")[0], BINDERS.get(name)), []).append(name)
    lines = ["| operations | note |", "|---|---|"]
    for names in groups.values():
        lines.append(f"| {', '.join(f'`{name}`' for name in names)} | {NOTES.get(names[0], '')} |")
    return "\n".join(lines)


def updated(document: str) -> str:
    """Returns a document with the table between its markers renewed."""
    before, rest = document.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    from pathlib import Path

    path = Path(__file__).resolve().parents[2] / "docs" / "machine.md"
    path.write_text(updated(path.read_text()))
