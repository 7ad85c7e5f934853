"""Reports of a run: one JSON document, and the Markdown and the page made of it (docs/reports.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from properties.report import markdown, page

NAMES = ("report.md", "report.html", "report.json")


def write(report: dict[str, Any], folder: Path) -> list[Path]:
    """Writes the three files, the data first, and returns their paths; raises OSError where it cannot."""
    folder.mkdir(parents=True, exist_ok=True)
    made: dict[str, Callable[[], str]] = {
        "report.json": lambda: json.dumps(report, indent=1, allow_nan=False),
        "report.md": lambda: markdown.rendered(report),
        "report.html": lambda: page.rendered(report),
    }
    for name, text in made.items():
        (folder / name).write_text(text(), encoding="utf-8")
    return [folder / name for name in NAMES]
