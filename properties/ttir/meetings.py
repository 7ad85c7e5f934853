"""Atomics beside plain accesses: every access of an extent sorted by place. Exact, and only paid for with atomics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .report import meeting, unordered

if TYPE_CHECKING:
    from .conflicts import Access, Extent


@dataclass
class _Touches:
    """One entry for each place that a lane touches: the place, its program, its access, its position there."""

    spot: np.ndarray
    owner: np.ndarray
    number: np.ndarray
    position: np.ndarray

    def take(self, chosen: Any) -> _Touches:
        return _Touches(self.spot[chosen], self.owner[chosen], self.number[chosen], self.position[chosen])


def _touches(extent: Extent, accesses: list[Access]) -> _Touches:
    parts = []
    for number, access in enumerate(accesses):
        access.flatten()
        spots = extent.positions(access.buffer, access.offset)
        position = np.arange(len(spots)) // (access.buffer.item // extent.unit)
        parts.append((spots, access.programs()[position], np.full(len(spots), number), position))
    return _Touches(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def judge_atomics(extent: Extent) -> None:
    """Reports plain accesses of places that are changed atomically: by others, or by itself with no barrier between."""
    plain = extent.reads + extent.writes
    if not plain:
        return
    atomic, other = _touches(extent, extent.atomics), _touches(extent, plain)
    spots = np.unique(atomic.spot)
    near = np.minimum(np.searchsorted(spots, other.spot), len(spots) - 1)
    other = other.take(spots[near] == other.spot)
    if len(other.spot):
        _of_others(extent, plain, other, atomic)
        _of_its_own(extent, plain, other, atomic)


def _of_others(extent: Extent, plain: list[Access], other: _Touches, atomic: _Touches) -> None:
    """The lowest and the highest program that change a place stand for all of them."""
    atomic = atomic.take(np.lexsort((atomic.owner, atomic.spot)))
    first = np.searchsorted(atomic.spot, other.spot, side="left")
    last = np.searchsorted(atomic.spot, other.spot, side="right") - 1
    met = np.where(atomic.owner[first] != other.owner, first, last)
    _report(extent, plain, other, atomic, met, atomic.owner[met] != other.owner, "")


def _of_its_own(extent: Extent, plain: list[Access], other: _Touches, atomic: _Touches) -> None:
    """Looks at the program's nearest atomics in its own order, before a read, and on both sides of a store."""
    sequences = np.array([access.sequence for access in plain + extent.atomics])
    # places and programs by their ranks, so that both fit one number; sorting pairs takes ten times as long
    places = np.unique(np.concatenate([other.spot, atomic.spot]), return_inverse=True)[1]
    owners, owner = np.unique(np.concatenate([other.owner, atomic.owner]), return_inverse=True)
    group = places * len(owners) + owner
    order = group * (sequences.max() + 1)
    order += sequences[np.concatenate([other.number, atomic.number + len(plain)])]
    group_of_other, group_of_atomic = np.split(group, [len(other.spot)])
    when, atomic_when = np.split(order, [len(other.spot)])
    by_time = np.argsort(atomic_when, kind="stable")
    atomic, atomic_when, group_of_atomic = atomic.take(by_time), atomic_when[by_time], group_of_atomic[by_time]
    place = np.searchsorted(atomic_when, when)
    is_store = other.number >= len(extent.reads)
    for met, counts in ((place - 1, None), (place, is_store)):
        valid = (met >= 0) & (met < len(atomic_when))
        met = np.where(valid, met, 0)
        valid &= group_of_atomic[met] == group_of_other
        if counts is not None:
            valid &= counts
        _report(extent, plain, other, atomic, met, valid, "of the same program, no barrier between; ")


def _report(
    extent: Extent, plain: list[Access], other: _Touches, atomic: _Touches, met: Any, which: Any, extra: str
) -> None:
    """Reports the chosen touches, one report for each pair of accesses."""
    chosen = np.flatnonzero(which)
    if not len(chosen):
        return
    here, there = other.take(chosen), atomic.take(met[chosen])
    pairs = here.number * len(extent.atomics) + there.number
    for pair in np.unique(pairs):
        number, atomic_number = divmod(int(pair), len(extent.atomics))
        access, change = plain[number], extent.atomics[atomic_number]
        mine = np.flatnonzero(pairs == pair)
        if extra:
            if number >= len(extent.reads) and _is_scalar(access) and _is_scalar(change):
                continue  # one thread does both
            mine = mine[unordered(access, here.position[mine], change, there.position[mine])]
        if len(mine):
            meeting(
                extent.run,
                "atomic conflict",
                access,
                here.position[mine],
                change,
                there.position[mine],
                "atomic",
                extra,
            )


def _is_scalar(access: Access) -> bool:
    return len(access.full) == len(access.start)
