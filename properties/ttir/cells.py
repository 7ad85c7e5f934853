"""Moving and merging whole values: data, taint and range together."""

from __future__ import annotations

from typing import Any

import numpy as np

from .pointers import Pointer
from .run import Frame

Cell = tuple[Any, Any, Any]


def read(frame: Frame, slot: int) -> Cell:
    """Returns a slot's data, taint and range."""
    return frame.data[slot], frame.taint[slot], frame.ranges[slot]


def write(frame: Frame, slot: int, cell: Cell) -> None:
    """Fills a slot."""
    frame.data[slot], frame.taint[slot], frame.ranges[slot] = cell


def join(one: Any, other: Any) -> Any:
    """Merges two taints; the larger code, so undefined before wrapped, survives."""
    if one is None:
        return other
    if other is None:
        return one
    return np.maximum(one, other)


def choose(condition: np.ndarray, yes: Cell, no: Cell, rank: int) -> Cell:
    """Returns lanes of `yes` where the condition holds, else of `no`; the chosen side's taint comes along.

    The condition may have fewer tile axes than the values: missing ones are added at the end.
    """
    (one, one_taint, one_range), (two, two_taint, two_range) = yes, no
    if one is two and one_taint is two_taint:
        return yes
    if one is None or two is None:
        return no if one is None else yes
    axes = one.rank if isinstance(one, Pointer) else one.ndim
    if condition.ndim < axes:
        condition = condition.reshape(condition.shape + (1,) * (axes - condition.ndim))
    taint = None
    if one_taint is not None or two_taint is not None:
        left = np.int16(0) if one_taint is None else one_taint
        right = np.int16(0) if two_taint is None else two_taint
        taint = np.where(condition, left, right)
        if not taint.any():
            taint = None
    span = None
    if one_range is not None and two_range is not None:
        span = (min(one_range[0], two_range[0]), max(one_range[1], two_range[1]))
    if isinstance(one, Pointer):
        return _choose_pointer(condition, one, two), taint, None
    return np.where(condition, one, two), taint, span


def _choose_pointer(condition: np.ndarray, one: Pointer, two: Pointer) -> Pointer:
    from .mixed import choose_base

    base = one.base if one.base == two.base else choose_base(condition, one, two)
    offset = np.where(condition, one.offset(), two.offset())
    return Pointer(base, (offset,), min(one.low, two.low), max(one.high, two.high), one.rank)
