"""docs/machine.md says what the code does."""

from __future__ import annotations

from pathlib import Path

from properties.ttir.operation_table import updated

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "machine.md"


def test_operations():
    """The table of operations is current; `python -m properties.ttir.operation_table` renews it."""
    text = DOCUMENT.read_text()
    assert updated(text) == text


def test_kinds():
    """Every kind of hazard that a test plants is described."""
    from .test_hazards import CASES

    text = DOCUMENT.read_text()
    for _, _, kind in CASES.values():
        assert f"`{kind}`" in text, kind


def test_files():
    """Every file of the machine is named in the table of files."""
    import properties.ttir

    text = DOCUMENT.read_text()
    for path in Path(properties.ttir.__path__[0]).glob("*.py"):
        if path.stem not in ("__init__", "__main__", "operations", "operation_table"):
            assert f"`{path.stem}`" in text, path.stem
