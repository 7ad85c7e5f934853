"""What a probe found of the taps of an element, in words."""

from __future__ import annotations

from collections.abc import Sequence

from properties.number_words import plural, times
from properties.probing import Found
from properties.verdict import Source, Tap

MOST_TAPS = 3  # that are told one by one


def wrong_taps(found: Found, channel: int) -> str:
    """Which taps came from elsewhere, or have another weight, in words; empty where none."""
    taps = [_tap(tap, len(found.cells[tap.index])) for tap in found.taps if tap.is_wrong]
    wrong = _listed(taps[:MOST_TAPS])
    wrong += [f"tap {tap} ({found.taps[tap].meant}) is added without a weight" for tap in found.bare]
    for tap in wrong_weights(found.taps, channel):
        its_channel, column = tap.weight or (0, 0)
        of = f" of channel {its_channel}" if its_channel != channel else ""
        meant = f"{tap.index}" if column != tap.index else f"of channel {channel}"
        wrong.append(f"tap {tap.index} ({tap.meant}) is multiplied by weight column {column}{of}, not {meant}")
    left = len(wrong) - MOST_TAPS + len(taps[MOST_TAPS:])
    more = [f"and {plural(left, 'more tap')} like these"] if left > 0 else []
    return ", ".join([*wrong[:MOST_TAPS], *more])


def wrong_weights(taps: Sequence[Tap], channel: int) -> list[Tap]:
    """The taps that another weight multiplies than their own."""
    return [tap for tap in taps if tap.weight is not None and tap.weight != (channel, tap.index)]


def exchanged(found: Found, channel: int) -> str:
    """What values alone do not tell of taps that other taps' weights multiply, in words; empty where there are none."""
    if any(tap.is_wrong for tap in found.taps):
        return ""
    if not any(tap.weight and tap.weight[0] == channel for tap in wrong_weights(found.taps, channel)):
        return ""
    return ": either wrong weights or wrong inputs are read, values alone do not tell which"


def wrong_residual(residual: Sequence[Source], own: Source, is_asked: bool) -> str:
    """What is added to an element whatever the weights, in words, where that is not its own input, once.

    Empty where nothing or its own is added that should not be: the arithmetic says so.
    """
    if all(one.is_at(own) for one in residual):
        return f"{own} is added {times(len(residual))}" if len(residual) > 1 else ""
    others = [str(one) for one in residual if not one.is_at(own)]
    named = " and ".join(others[:MOST_TAPS]) + (f" and {len(others) - MOST_TAPS} more" if others[MOST_TAPS:] else "")
    if not is_asked or len(others) < len(residual):
        return f"{named} {'is' if len(others) == 1 else 'are'} added without a weight"
    return f"the residual came from {named}, meant {_apart(own, residual[0] if len(residual) == 1 else None)}"


def _listed(taps: list[tuple[str, str]]) -> list[str]:
    """Where each tap came from and what is wrong with that, in words; said once where the next one has the same."""
    following = [wrong for _, wrong in taps[1:]]
    return [
        came if not wrong or wrong in following[at : at + 1] else f"{came}, {wrong}"
        for at, (came, wrong) in enumerate(taps)
    ]


def _tap(tap: Tap, count: int) -> tuple[str, str]:
    """What a wrong tap is and what it should be, in words; `count`: of how many cells it is the sum."""
    if tap.is_repeated:
        return f"tap {tap.index} ({tap.meant}) counts {times(count)}", ""
    came = f"tap {tap.index} came from {tap.came}"
    if tap.meant.kind != "nothing":
        return came, f"meant {_apart(tap.meant, tap.came)}"
    if tap.meant.position is None:
        return came, "but should be 0: a row without a slot has no taps"
    return came, f"but should be 0: position {tap.meant.position} is before the start"


def _apart(meant: Source, came: Source | None) -> str:
    """A place, or what alone is another in it than where the tap came from."""
    if came is None or (meant.kind, meant.row, meant.block, meant.offset) != (
        came.kind, came.row, came.block, came.offset,
    ):  # fmt: skip  # side by side
        return str(meant)
    parts = (("channel", meant.channel, came.channel), ("head", meant.head, came.head), ("d =", meant.d, came.d))
    return ", ".join(f"{name} {its}" for name, its, other in parts if its != other)
