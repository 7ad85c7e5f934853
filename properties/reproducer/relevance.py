"""Relevance: which elements of the tensors of a case the contract lets be anything, so that a script stays short.

Channels never meet in the contract, so other channels than the compared one may hold one number; so may cache
elements and block-table entries outside of every window. A correct kernel gives what it gave before; whether the
faulty one still fails is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from properties.contents import bits
from properties.reproducer.events import Called, Event, Given, Place, Written
from properties.reproducer.evidence import Pairs
from properties.reproducer.labels import unravelled

LARGE = 16  # elements from which a tensor is worth it
METADATA = ("positions", "seq_idx", "slot_mapping", "query_start", "block_table")


@dataclass(frozen=True)
class Reduction:
    """What is made one number: other channels, the cache and the block table outside of every window."""

    channels: bool
    cache: bool
    table: bool  # and what the buffers of the metadata hold before they are filled


# the strongest first; the last changes nothing
REDUCTIONS = (
    Reduction(channels=True, cache=True, table=True),
    Reduction(channels=True, cache=True, table=False),
    Reduction(channels=False, cache=True, table=True),
    Reduction(channels=True, cache=False, table=True),
    Reduction(channels=False, cache=False, table=True),
    None,
)


def is_large(events: Sequence[Event]) -> bool:
    """Whether any argument has so many elements that making some alike is worth it."""
    given = [one for call in _calls(events) for one in call.arguments.values() if isinstance(one, Given)]
    return any(len(one.place.offsets) > LARGE + 128 for one in given)


def _calls(events: Sequence[Event]) -> list[Called]:
    return [call for event in events if not isinstance(event, Written) for call in event.calls]


def in_first_channel(found: Sequence[Pairs]) -> list[Pairs]:
    """The pairs whose element is of the same channel, or cache column, as the first that differs."""
    first = found[0]
    every = [_columns_of(one) for one in found]
    column = every[0][_first_wrong(first)]
    alike = [one.got_version.place.main.ndim == first.got_version.place.main.ndim for one in found]
    kept = [torch.tensor([here == column for here in columns]) for columns in every]
    return [_only(one, mine) for one, mine, is_alike in zip(found, kept, alike, strict=True) if is_alike and mine.any()]


def _columns_of(one: Pairs) -> list[tuple[int, ...]]:
    """The channel, or head and lane, of every element of a result or cache; the same for all of anything else."""
    place = one.got_version.place
    if place.is_result and place.main.ndim == 2:
        return [(at % place.main.shape[1],) for at in one.got_at.tolist()]
    if place.name != "cache":
        return [()] * len(one.got_at)
    begin, shape, strides = int(place.main.storage_offset()), tuple(place.main.shape), place.main.stride()
    places = [unravelled(at - begin, shape, strides) for at in one.got_at.tolist()]
    return [(at[1], at[3]) if at is not None else () for at in places]


def _first_wrong(one: Pairs) -> int:
    if one.allowed is not None:
        wrong = ~((one.got.double() - one.wanted.double()).abs() <= one.allowed)
    else:
        wrong = bits(one.got) != bits(one.wanted.to(one.got.dtype))
        if one.is_loose:
            wrong &= one.got != one.wanted.to(one.got.dtype)
    found = wrong.nonzero().flatten()
    return int(found[0]) if len(found) else 0


def _only(one: Pairs, mine: torch.Tensor) -> Pairs:
    return replace(
        one,
        got_at=one.got_at[mine],
        got=one.got[mine],
        wanted=one.wanted[mine],
        wanted_at=None if one.wanted_at is None else one.wanted_at[mine],
        allowed=None if one.allowed is None else one.allowed[mine],
    )


def reduced(
    events: Sequence[Event], found: Sequence[Pairs], how: Reduction, keeps_all: bool
) -> dict[Place, torch.Tensor]:
    """Which elements of places must stay as they were. `keeps_all`: every channel is compared."""
    calls = [call for call in _calls(events) if call.operator == "fused_sconv"]
    if any(isinstance(event, Written) and bool(event.labels.any()) for event in events):
        return {}
    columns = {} if not how.channels or keeps_all else _columns(calls, found)
    written = {event.place for event in events if isinstance(event, Written)}
    filled = {one.place for call in _calls(events) if call not in calls for one in _filled_by(call)}
    kept = {place: torch.zeros(len(place.offsets), dtype=torch.bool) for place in filled if how.table}
    for call in calls:
        given = {name: one for name, one in call.arguments.items() if isinstance(one, Given)}
        cache, table = given["cache"], given["block_table"]
        windows = None
        if not {given[name].place for name in METADATA} & (written | filled):
            windows = _windows(call, given)
            if how.table:
                _mark(kept, table, windows[0])
        is_narrow = how.channels and not keeps_all
        if how.cache and (windows is not None or is_narrow):
            _mark(kept, cache, _read(cache, windows, columns.get(cache.place, set()) if is_narrow else None))
        if is_narrow:
            H, off_s, ws = cache.shape[1], call.arguments["off_s"], call.arguments["ws"]
            mine = [h * ws + d - off_s for h, d in columns.get(cache.place, ()) if off_s <= d < off_s + ws and h < H]
            for name, axis in (("x", 1), ("weight", 0)):
                flags = torch.zeros(given[name].shape, dtype=torch.bool)
                flags.index_fill_(
                    axis, torch.tensor([c for c in mine if c < flags.shape[axis]], dtype=torch.int64), True
                )
                _mark(kept, given[name], flags)
    for one in found:
        for version, at in ((one.got_version, one.got_at), (one.wanted_version, one.wanted_at)):
            if version is not None and at is not None and version.place in kept:
                kept[version.place] |= torch.isin(version.place.offsets, at)
    return {
        place: keep
        for place, keep in kept.items()
        if len(place.offsets) > LARGE and (place not in written or place.name == "x")
    }


def _filled_by(call: Called) -> list[Given]:
    """What the metadata operator is given to fill."""
    found = [call.arguments.get(name) for name in ("seq_idx_out", "query_start_out")]
    return [one for one in found if isinstance(one, Given)]


def _columns(calls: Sequence[Called], found: Sequence[Pairs]) -> dict[Place, set[tuple[int, int]]]:
    """Which heads and lanes of each cache the compared elements go through."""
    columns: dict[Place, set[tuple[int, int]]] = {}
    for one in found:
        for version, at in ((one.got_version, one.got_at), (one.wanted_version, one.wanted_at)):
            if version is None or at is None:
                continue
            for call in calls:
                cache, ws, off_s = call.arguments["cache"], call.arguments["ws"], call.arguments["off_s"]
                if call.result is version.place:
                    width = version.place.main.shape[1]
                    mine = {(c // ws, off_s + c % ws) for c in (at % width).unique().tolist()}
                elif cache.place is version.place:
                    flags = torch.isin(_storage_offsets(cache), at)
                    mine = {(h, d) for _, h, _, d in flags.nonzero().tolist()}
                else:
                    continue
                columns.setdefault(cache.place, set()).update(mine)
    return columns


def _storage_offsets(one: Given) -> torch.Tensor:
    """The offset of every element of a view in the storage, in the shape of the view."""
    offsets = torch.full((), one.offset)
    for length, stride in zip(one.shape, one.strides, strict=True):
        offsets = offsets[..., None] + torch.arange(length) * stride
    return offsets.view(one.shape)


def _mark(kept: dict[Place, torch.Tensor], one: Given, flags: torch.Tensor) -> None:
    place = one.place
    keep = kept.setdefault(place, torch.zeros(len(place.offsets), dtype=torch.bool))
    offsets = _storage_offsets(one)[flags]
    keep |= torch.isin(place.offsets, offsets) if place.is_sparse else keep.index_fill(0, offsets, True)


def _windows(call: Called, given: dict[str, Given]) -> tuple[torch.Tensor, torch.Tensor]:
    """Which entries of the block table, and which blocks and offsets of the cache, are in the window of some row."""
    now = {name: _begin(given[name]) for name in METADATA}
    N, W = given["cache"].shape[2], given["weight"].shape[1]
    entries = torch.zeros(given["block_table"].shape, dtype=torch.bool)
    cells = torch.zeros((given["cache"].shape[0], N), dtype=torch.bool)
    for row, slot in enumerate(now["slot_mapping"].tolist()):
        if slot < 0:
            continue
        position, request = int(now["positions"][row]), int(now["seq_idx"][row])
        start = position - (row - int(now["query_start"][row]))
        for source in range(max(0, position - W + 1), start):
            entries[request, source // N] = True
            cells[int(now["block_table"][request, source // N]), source % N] = True
    return entries, cells


def _begin(one: Given) -> torch.Tensor:
    if one.place.is_sparse:
        return one.place.begin.view(one.shape)
    return one.place.begin.as_strided(one.shape, one.strides, one.offset)


def _read(
    cache: Given, windows: tuple[torch.Tensor, torch.Tensor] | None, columns: set[tuple[int, int]] | None
) -> torch.Tensor:
    """Which elements of a cache matter: those in windows, and of the columns alone where these are known."""
    flags = torch.ones(cache.shape, dtype=torch.bool)
    if windows is not None:
        flags &= windows[1][:, None, :, None]
    if columns is not None:
        lanes = torch.zeros((cache.shape[1], cache.shape[3]), dtype=torch.bool)
        for h, d in columns:
            lanes[h, d] = True
        flags &= lanes[None, :, None, :]
    return flags


def _is_element(place: Place) -> torch.Tensor:
    """Which of a place's offsets are elements of its tensor, and not around or between them."""
    flags = torch.full((len(place.offsets),), place.is_sparse)
    if not place.is_sparse:
        flags.as_strided(place.main.shape, place.main.stride(), int(place.main.storage_offset())).fill_(True)
    return flags


def alike(place: Place, keep: torch.Tensor) -> torch.Tensor:
    """A place's first values, those that need not be kept made one number."""
    values = place.begin.clone()
    free = values[~keep & _is_element(place)]
    if not len(free):
        return values
    if place.name in ("x", "weight"):
        values[~keep] = 1
    else:
        values[~keep] = 0 if place.name == "block_table" else free[0]
    return values
