"""Reports of a run: one JSON document, and the Markdown and the page made of it (docs/reports.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from properties.report.markdown import markdown
from properties.report.page import page

NAMES = ("report.md", "report.html", "report.json")


def write(report: dict[str, Any], folder: Path) -> list[Path]:
    """Writes the three files, the data first, and returns their paths; raises OSError where it cannot."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {"report.json": lambda: json.dumps(report, indent=1, allow_nan=False), "report.md": lambda: markdown(report)}
    for name, text in {**made, "report.html": lambda: page(report)}.items():
        (folder / name).write_text(text(), encoding="utf-8")
    return [folder / name for name in NAMES]
