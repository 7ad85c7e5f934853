"""Told hazards: what a script's run under the machine has printed, hazard by hazard, and which is the script's own."""

from __future__ import annotations

from itertools import pairwise

from properties.number_words import plural


def every(printed: str) -> list[tuple[str, str]]:
    """What the machine has told of each hazard: what it is, and at which line."""
    lines = printed.splitlines()
    return [(one, at) for one, at in pairwise(lines) if at.startswith("  ") and not one.startswith(" ")]


def own(printed: str, told: str, at: str, loosely: bool = False) -> tuple[str, str] | None:
    """The hazard at a line of the kernel that is told so, or `loosely` one of its kind there; None if there is none."""
    what = told.split(":")[0] + ":" if loosely else told
    return next((one for one in every(printed) if one[0].startswith(what) and one[1].strip() == at), None)


def shown(printed: str, told: str, at: str) -> tuple[list[str], str]:
    """The lines of the script's own hazard, and in words how many others the machine has told beside it."""
    mine = own(printed, told, at) or own(printed, told, at, loosely=True)
    beside = len(every(printed)) - 1
    return list(mine or ()), f", beside {plural(beside, 'other hazard')}" if mine and beside > 0 else ""
