"""Smaller: ever smaller cases of one or two calls that still violate a property, field by field.

Hypothesis, which shrinks the choices behind a case, removes a request or a geometry in dozens of calls and at each
new geometry waits for the compiler; what is tried here first removes most at the cost of one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import singledispatch
from typing import Any

from properties import allowed
from properties.cases import Forward, Geometry, Layout, Metadata, Request, Schedule, Streams

KINDS = (Forward, Streams, Schedule, Metadata)  # of cases, of which smaller ones are known
TINY = (Geometry(W=2), Geometry(N=4, W=4), Geometry(H=2, ws=2, N=4, W=4, D=2))  # as of lives


def reduced(case: Any, fails: Callable[[Any], bool], known: Sequence[Any] = ()) -> Any:
    """The smallest case found; first those `known` are tried, which violate other properties.

    Whatever ends the search is raised by `fails`, which knows the last case that failed.
    """
    tried = {case}

    def is_smaller(one: Any) -> bool:
        if one in tried or allowed.fault(one):
            return False
        tried.add(one)
        return fails(one)

    for one in sorted(known, key=lambda each: len(repr(each))):
        alike = _alike(one, case)
        if alike is not None and len(repr(alike)) < len(repr(case)) and is_smaller(alike):
            case = alike
            break
    while (found := next(filter(is_smaller, smaller(case)), None)) is not None:
        case = found
    return case


def _alike(one: Any, case: Any) -> Forward | None:
    """A case that violates another property, with what this property's cases have: numbers, activation, dtype."""
    if not (isinstance(one, Forward) and isinstance(case, Forward)):
        return None
    kept = {name: getattr(case, name) for name in ("contents", "activation", "use_residual", "seed")}
    return replace(one, geometry=replace(one.geometry, dtype=case.geometry.dtype), **kept)


@singledispatch
def smaller(case: Any) -> Iterator[Any]:
    """Cases that are smaller in one respect, the most promising first; some may not be allowed."""
    yield from ()


@smaller.register
def _(case: Forward) -> Iterator[Forward]:
    yield from _fewer_requests(case)
    yield from _with(case, holes=(), pads=0)
    yield from _with(case, pads=0)
    yield from _with(case, pads=min(case.pads, 1))
    yield from _with(case, holes=())
    yield from _shorter_requests(case)
    yield from _joined_requests(case)
    yield from _with(case, layout=Layout(weight_dtype=case.layout.weight_dtype))
    for geometry in _simpler_geometries(case.geometry):
        yield replace(case, geometry=geometry)
    yield from _with(case, contents="exact", seed=0)  # either alone may hide what a number of the other shows
    for change in ({"contents": "exact"}, {"activation": None}, {"use_residual": True}, {"block_seed": 0}, {"seed": 0}):
        yield from _with(case, **change)
    for hole in case.holes:
        yield replace(case, holes=tuple(one for one in case.holes if one != hole))
    for pads in (case.pads // 2, case.pads - 1):
        if pads > 0:
            yield from _with(case, pads=pads)
    for field in fields(Layout):
        yield from _with(case, layout=replace(case.layout, **{field.name: field.default}))  # type: ignore[arg-type]
    for name in ("block_seed", "seed"):
        yield from _with(case, **{name: min(getattr(case, name), 1)})


@smaller.register
def _(case: Streams) -> Iterator[Streams]:
    yield from _with(case, kv=1, wide=1)
    yield from _with(case, order=(0, 1, 2, 3))
    for forward in smaller(case.forward):
        yield replace(case, forward=forward)


@smaller.register
def _(case: Schedule) -> Iterator[Schedule]:
    count = len(case.cuts)
    for size in dict.fromkeys((count // 2, 1)):
        for begin in range(0, count, size or 1):
            if count > size > 0:
                yield replace(case, cuts=(*case.cuts[:begin], *case.cuts[begin + size :]))
    for geometry in _simpler_geometries(case.geometry):
        yield replace(case, geometry=geometry)
    for index, cut in enumerate(case.cuts):
        for less in dict.fromkeys((1, cut // 2, cut - 1)):
            if 0 < less < cut:
                yield replace(case, cuts=(*case.cuts[:index], less, *case.cuts[index + 1 :]))
    yield from _with(case, window=2, accepted=min(case.accepted, 1))
    yield from _with(case, accepted=0)
    for change in ({"activation": None}, {"use_residual": True}, {"block_seed": 0}, {"seed": 0}):
        yield from _with(case, **change)


@smaller.register
def _(case: Metadata) -> Iterator[Metadata]:
    yield from _with(case, repeat=1)
    yield from _with(case, repeat=case.repeat // 2 or 1)
    count = len(case.lengths)
    for size in dict.fromkeys((count // 2, 1)):
        for begin in range(0, count, size or 1):
            if size:
                yield replace(case, lengths=(*case.lengths[:begin], *case.lengths[begin + size :]))
    for name in ("padding", "slack", "extra", "shift", "seed"):
        yield from _with(case, **{name: 0})
    for index, length in enumerate(case.lengths):
        for less in dict.fromkeys((0, 1, length // 2, length - 1)):
            if 0 <= less < length:
                yield replace(case, lengths=(*case.lengths[:index], less, *case.lengths[index + 1 :]))
    for name in ("padding", "slack", "extra", "repeat"):
        for less in (1, (getattr(case, name) or 0) // 2, (getattr(case, name) or 0) - 1):
            if 0 < less < (getattr(case, name) or 0):
                yield from _with(case, **{name: less})


def _with(case: Any, **change: Any) -> Iterator[Any]:
    """The case with other fields, if they are others."""
    if any(getattr(case, name) != value for name, value in change.items()):
        yield replace(case, **change)


def _fewer_requests(case: Forward) -> Iterator[Forward]:
    """Without many requests, then without each one."""
    count = len(case.requests)
    for size in dict.fromkeys((count - 1, count // 2, count // 4, 1)):
        for begin in range(0, count, size or 1):
            if 0 < size < count:
                yield _of(case, [one for one in range(count) if not begin <= one < begin + size])


def _of(case: Forward, kept: Sequence[int]) -> Forward:
    """The forward with some of its requests: forks of others are none, rows without a slot stay with their request."""
    requests: list[Request] = []
    holes: list[int] = []
    row = 0
    for index in kept:
        one, first = case.requests[index], case.first_rows[index]
        fork = kept.index(one.fork) if one.fork in kept else None
        requests.append(replace(one, fork=fork))
        holes += [hole - first + row for hole in case.holes if first <= hole < first + one.length]
        row += one.length
    return replace(case, requests=tuple(requests), holes=tuple(holes))


def _joined_requests(case: Forward) -> Iterator[Forward]:
    """With the rows of two requests in one, for what only their number matters to."""
    for index in range(1, len(case.requests)):
        one, other = case.requests[index - 1 : index + 1]
        forks = [request.fork for request in case.requests[index + 1 :]]
        if other.fork is None and not any(fork is not None and fork >= index for fork in forks):
            both = replace(one, length=one.length + other.length)
            yield replace(case, requests=(*case.requests[: index - 1], both, *case.requests[index + 1 :]))


def _shorter_requests(case: Forward) -> Iterator[Forward]:
    """With each request a plain one, without history, then with less of it, or with fewer rows."""
    N, W = case.geometry.N, case.geometry.W
    plain = tuple(Request(min(one.start, W - 1), min(one.length, 1)) for one in case.requests)
    if plain != case.requests:
        yield from _with_requests(case, plain)
    for index, one in enumerate(case.requests):
        starts = (0, 1, W - 1, N, one.start % N, one.start // 2, one.start - N, one.start - 1)
        lengths = (1, W - 1, N, one.length // 2, one.length - 1)
        simpler = [replace(one, fork=None)] * (one.fork is not None)
        simpler += [replace(one, length=length) for length in dict.fromkeys(lengths) if 0 < length < one.length]
        simpler += [replace(one, start=start) for start in dict.fromkeys(starts) if 0 <= start < one.start]
        for other in simpler:
            yield from _with_requests(case, (*case.requests[:index], other, *case.requests[index + 1 :]))


def _with_requests(case: Forward, requests: tuple[Request, ...]) -> Iterator[Forward]:
    """The forward with shorter requests in place of its own; rows without a slot are dropped with theirs, or moved."""
    for is_moved in (False, True) if case.holes else (False,):
        holes, row = set(), 0
        for one, first, other in zip(case.requests, case.first_rows, requests, strict=True):
            mine = (hole - first for hole in case.holes if first <= hole < first + one.length)
            kept = (min(hole, other.length - 1) for hole in mine if hole < other.length or (is_moved and other.length))
            holes |= {row + hole for hole in kept}
            row += other.length
        yield replace(case, requests=requests, holes=tuple(sorted(holes)))


def _simpler_geometries(geometry: Geometry) -> Iterator[Geometry]:
    """Tiny ones, of which most need no new compilation, then its own with one size less."""
    H, ws, N, W = geometry.H, geometry.ws, geometry.N, geometry.W
    tight = {"off_s": 0, "D": ws}
    changes: list[dict[str, int]] = [
        {"H": 1, "ws": 1, "N": 1, "off_s": 0, "D": 1}, {"H": 1, "ws": 1, "off_s": 0, "D": 1}, {"N": 1}, {"H": 1},
        tight, {"ws": 1}, {"D": geometry.off_s + ws}, {"ws": 2}, {"H": 2}, {"off_s": 1}, {"W": 2}, {"W": W - 1},
        {"N": 2}, {"N": W}, {"N": N // 2}, {"N": N - 1}, {"ws": ws // 2}, {"ws": ws - 1}, {"H": H // 2}, {"H": H - 1},
    ]  # fmt: skip  # a list reads better in rows
    size = (geometry.C, W, N, geometry.D)
    for other in (*(replace(one, dtype=geometry.dtype) for one in TINY), *(_shrunk(geometry, one) for one in changes)):
        if other is not None and (other.C, other.W, other.N, other.D) < size and other.W <= W:
            yield other


def _shrunk(geometry: Geometry, change: dict[str, int]) -> Geometry | None:
    """A geometry with smaller sizes in place of some; None where one of them is not smaller, or below 1."""
    is_less = all(
        0 < value <= getattr(geometry, name) or (name, value) == ("off_s", 0) for name, value in change.items()
    )
    return replace(geometry, **change) if is_less else None  # type: ignore[arg-type]  # sizes by name
