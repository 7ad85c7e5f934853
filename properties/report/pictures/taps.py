"""A tap in words: where it came from, and where it was meant to."""

from __future__ import annotations

from dataclasses import replace

from properties.verdict import Source, Tap

ELSEWHERE = {"nothing": "nowhere", "outside": "outside", "sum": "a sum", "unknown": "unknown"}  # what no arrow shows


def came_words(tap: Tap) -> str:
    """Where a tap came from and where it was meant to, as far as that is known."""
    meant = "be 0" if tap.meant.kind == "nothing" else f"come from {_words(tap.meant, tap.came)}"
    if tap.came is None:
        return f"is meant to {meant}"
    if agrees(tap):
        return "is 0, as meant" if tap.came.kind == "nothing" else f"came from {tap.came}, as meant"
    came = "nowhere" if tap.came.kind == "nothing" else _words(tap.came, tap.meant)
    return f"came from {came}, but was meant to {meant}"


def _words(source: Source, other: Source | None) -> str:
    """A place in words, with channel, head and lane where those differ from the other place's."""
    names = [name for name in ("channel", "head", "d") if getattr(source, name) is not None]
    if other is None or all(getattr(source, name) == getattr(other, name, None) for name in names):
        return str(source)
    return " ".join([str(source), *(f"{name} {getattr(source, name)}" for name in names)])


def agrees(tap: Tap) -> bool:
    """Whether a tap came from where it was meant to, whatever else is said of the place."""
    return tap.came is not None and replace(tap.came, note="", position=None) == replace(
        tap.meant, note="", position=None
    )


def status(tap: Tap) -> tuple[str, str]:
    """What is to be said of a tap in a word or two, and how it looks."""
    if tap.came is None:
        return ("is 0" if tap.meant.kind == "nothing" else "not probed"), "open"
    if agrees(tap):
        return ("✓ is 0" if tap.meant.kind == "nothing" else "✓ as meant"), "right"
    return f"✗ {ELSEWHERE.get(tap.came.kind, 'not meant')}", "false"
