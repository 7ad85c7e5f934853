"""Interval arithmetic on Python integers: proves in nanoseconds that most operations cannot wrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Range = tuple[int, int]
# up to here Python's own min and max are faster than two reductions
LISTED_LANES = 64


def known(frame: Any, slot: int) -> Range:
    """Returns the range of a slot; where none is known, as after a load, the array is asked, once."""
    found = frame.ranges[slot]
    if found is None:
        data = frame.data[slot]
        if data.size <= LISTED_LANES:
            listed = data.ravel().tolist()
            found = min(listed), max(listed)
        else:
            found = int(np.minimum.reduce(data, axis=None)), int(np.maximum.reduce(data, axis=None))
        frame.ranges[slot] = found
    return found


def _add(one: Range, other: Range) -> Range:
    return one[0] + other[0], one[1] + other[1]


def _subtract(one: Range, other: Range) -> Range:
    return one[0] - other[1], one[1] - other[0]


def _multiply(one: Range, other: Range) -> Range:
    if one[0] >= 0 and other[0] >= 0:
        return one[0] * other[0], one[1] * other[1]
    corners = (one[0] * other[0], one[0] * other[1], one[1] * other[0], one[1] * other[1])
    return min(corners), max(corners)


def _maximum(one: Range, other: Range) -> Range:
    return max(one[0], other[0]), max(one[1], other[1])


def _minimum(one: Range, other: Range) -> Range:
    return min(one[0], other[0]), min(one[1], other[1])


def _and(one: Range, other: Range) -> Range:
    if one[0] >= 0 and other[0] >= 0:
        return 0, min(one[1], other[1])
    if one[0] >= 0:
        return 0, one[1]
    if other[0] >= 0:
        return 0, other[1]
    return _around(one, other)


def _around(one: Range, other: Range) -> Range:
    """Bounds bit operations by the next power of two."""
    reach = max(abs(one[0]), abs(one[1]), abs(other[0]), abs(other[1])) + 1
    top = (1 << (reach - 1).bit_length()) - 1
    return (0, top) if one[0] >= 0 and other[0] >= 0 else (-top - 1, top)


def divide(one: Range, other: Range) -> Range:
    """Bounds a quotient rounded toward zero."""
    if one[0] >= 0 and other[0] > 0:
        return one[0] // other[1], one[1] // other[0]
    reach = max(abs(one[0]), abs(one[1]))
    return -reach, reach


def remainder(one: Range, other: Range) -> Range:
    """Bounds a remainder with the sign of the dividend."""
    reach = max(abs(other[0]), abs(other[1])) - 1
    reach = min(max(reach, 0), max(abs(one[0]), abs(one[1])))
    return (0 if one[0] >= 0 else -reach), (0 if one[1] <= 0 else reach)


RANGES: dict[str, Callable[[Range, Range], Range]] = {
    "arith.addi": _add,
    "arith.subi": _subtract,
    "arith.muli": _multiply,
    "arith.maxsi": _maximum,
    "arith.minsi": _minimum,
    "arith.andi": _and,
    "arith.ori": _around,
    "arith.xori": _around,
    "arith.divsi": divide,
    "arith.remsi": remainder,
}
