"""Variables: how a script lays out the memory of a recording, and names it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from properties.contents import bits
from properties.reproducer.events import Called, Event, Given, Place, Unwritable, Version, Written
from properties.reproducer.labels import unravelled
from properties.reproducer.literals import TooLarge, literal, numbers, spelled, unravel, wrapped
from properties.reproducer.relevance import alike

RED_ZONE = 64
CANARY = 0x5A  # the byte that red zones are filled with


@dataclass(eq=False)
class Owned:
    """A place in the script: its variable, and the view that the variable is."""

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    begin: int  # of its first element, in the storage of the recording
    first: int = RED_ZONE  # the same in the script's storage
    gap: torch.Tensor | None = None  # what lies between its elements, where that is not what lies around them

    def index(self, offset: int) -> tuple[int, ...] | None:
        """The index of the element at that offset of the recording's storage; None where that is no element."""
        return unravelled(offset - self.begin, self.shape, self.strides)

    def indices(self, offsets: torch.Tensor) -> list[list[int]] | None:
        """The elements at these offsets as one list of indices for each axis; None if any is no element."""
        found = [place for offset in offsets if (place := self.index(int(offset))) is not None]
        return [list(axis) for axis in zip(*found, strict=True)] if len(found) == len(offsets) else None

    def is_whole(self, offsets: torch.Tensor) -> bool:
        """Whether these are all elements of what the variable is, in order."""
        if len(offsets) != math.prod(self.shape):
            return False
        if self.begin == 0 and self.strides == _contiguous(self.shape):
            return bool((offsets == torch.arange(len(offsets))).all())
        return all(self.index(int(offset)) == unravel(i, self.shape) for i, offset in enumerate(offsets))

    def around(self, offsets: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """What a script puts at these offsets between and around the elements, before the first call."""
        last = self.begin + sum((n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True))
        is_between = (offsets > self.begin) & (offsets < last)
        between = _canary(dtype) if self.gap is None else self.gap
        return torch.where(is_between, between, _canary(dtype))

    def numbers_in_memory(self, offsets: torch.Tensor) -> list[int]:
        """The same elements by their number in the script's storage, those around the variable too."""
        return [int(offset) - self.begin + self.first for offset in offsets]


@dataclass
class Variables:
    """The variable of every place, the lines that make them, and which helpers these need."""

    events: Sequence[Event]
    versions: Sequence[Version]
    keep: Mapping[Place, torch.Tensor]  # which elements must be as they were, where not all
    owned: dict[Place, Owned] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    needs: set[str] = field(default_factory=set)
    declared: dict[str, str] = field(default_factory=dict)  # what each variable was declared as

    def write(self) -> None:
        """Names and declares everything that the calls are given. Raises Unwritable."""
        self._own()
        for place, own in self.owned.items():
            if not place.is_result:
                self._declare(place, own)

    def _own(self) -> None:
        results: list[Place] = []
        arguments: dict[Place, list[Given]] = {}
        for call in self.every_call:
            for one in call.arguments.values():
                if isinstance(one, Given):
                    arguments.setdefault(one.place, []).append(one)
            if call.result is not None and call.result not in results:
                results.append(call.result)
        for place in results:
            shape = tuple(place.main.shape)
            name = "out" if len(results) == 1 else f"out_{results.index(place)}"
            self.owned[place] = Owned(name, shape, _contiguous(shape), 0, 0)
        found: dict[str, list[Place]] = {}
        for place, given in arguments.items():
            own = _owned(place.name, place, given)
            twin = next((other for other in found.get(place.name, []) if self._is_same(place, own, other)), None)
            if twin is None:
                found.setdefault(place.name, []).append(place)
            self.owned[place] = self.owned[twin] if twin else own
        for name, places in found.items():
            for number, place in enumerate(places):
                self.owned[place].name = name if len(places) == 1 else f"{name}_{number}"

    @property
    def every_call(self) -> list[Called]:
        """The calls of all events, in order."""
        return [call for event in self.events if not isinstance(event, Written) for call in event.calls]

    def _is_same(self, place: Place, own: Owned, other: Place) -> bool:
        """Whether two places hold the same and nobody writes to them, so that one will do."""
        theirs = self.owned[other]
        written = {version.place for version in self.versions}
        written |= {event.place for event in self.events if isinstance(event, Written)}
        if {place, other} & written or place.is_sparse or other.is_sparse:
            return False
        if (own.shape, own.strides, own.begin, own.first) != (theirs.shape, theirs.strides, theirs.begin, theirs.first):
            return False
        mine, its = self._begin(place, own), self._begin(other, theirs)
        return place.main.dtype == other.main.dtype and torch.equal(bits(mine), bits(its))

    def _declare(self, place: Place, own: Owned) -> None:
        if own.name in self.declared:
            return
        values = self._begin(place, own)
        try:
            made, dtype = spelled(values)
        except TooLarge as error:
            raise Unwritable(f"{own.name} has {error}") from None
        same = f"{made} {dtype}"
        if not place.is_sparse and len(made) > 30 and same in self.declared.values():
            made, dtype = next(name for name, text in self.declared.items() if text == same), ""
        self.declared[own.name] = same
        more = f", {dtype}" if dtype else ""
        if place.is_sparse:
            self.needs |= {"far"}
            self.lines.append(wrapped(f"{own.name} = far({literal(values)}, {own.strides})"))
            return
        self.needs |= {"laid"}
        if own.strides != _contiguous(own.shape) and values.numel():
            more += f", strides={own.strides}"
        more += f", shift={own.first - RED_ZONE}" if own.first != RED_ZONE else ""
        if (gap := self._gap(place, own)) is not None:
            own.gap, more = gap, f"{more}, gap={numbers(gap)[0]}"
        self.needs |= {"strided"} if "=" in more else set()
        self.lines.append(wrapped(f"{own.name} = laid({made}{more})"))

    @staticmethod
    def _gap(place: Place, own: Owned) -> torch.Tensor | None:
        """What most elements between those of a variable hold, where that is not what red zones hold."""
        extent = 1 + sum((n - 1) * stride for n, stride in zip(own.shape, own.strides, strict=True))
        if extent == math.prod(own.shape) or not math.prod(own.shape):
            return None
        between = torch.ones(extent, dtype=torch.bool)
        between.as_strided(own.shape, own.strides, 0).fill_(False)
        between = place.begin[own.begin : own.begin + extent][between]
        common = between[bits(between) == bits(between).mode().values][:1]
        return None if torch.equal(bits(common), bits(_canary(common.dtype))) else common

    def _begin(self, place: Place, own: Owned) -> torch.Tensor:
        flat = alike(place, self.keep[place]) if place in self.keep else place.begin
        if place.is_sparse:
            return flat.view(own.shape)
        return flat.as_strided(own.shape, own.strides, own.begin) if math.prod(own.shape) else flat.new_zeros(own.shape)

    def argument(self, one: Any) -> str:
        """An argument of a call, as Python."""
        if not isinstance(one, Given):
            return repr(one)
        own = self.owned[one.place]
        if (one.shape, one.offset) == (own.shape, own.begin) and (one.strides == own.strides or 0 in one.shape):
            return own.name
        first = own.index(one.offset)
        if first is not None and one.strides == own.strides and 0 not in one.shape:
            ends = [at + size for at, size in zip(first, one.shape, strict=True)]
            if all(end <= size for end, size in zip(ends, own.shape, strict=True)):
                cuts = [_cut(at, end, size) for at, end, size in zip(first, ends, own.shape, strict=True)]
                while cuts and cuts[-1] == ":":
                    cuts.pop()
                return f"{own.name}[{', '.join(cuts)}]"
        if 0 in one.shape and len(one.shape) == len(own.shape) and one.shape[1:] == own.shape[1:]:
            return f"{own.name}[:0]"
        return f"{own.name}.as_strided({one.shape}, {one.strides}, {one.offset - own.begin + own.first})"


def _owned(name: str, place: Place, given: Sequence[Given]) -> Owned:
    """How a script lays a place out: as its largest view, or flat where other views pass that."""
    main = place.main
    own = Owned(name, tuple(main.shape), main.stride(), int(main.storage_offset()))
    size = main.untyped_storage().nbytes() // main.element_size()
    end = own.begin + 1 + sum((n - 1) * stride for n, stride in zip(own.shape, own.strides, strict=True))
    if place.is_sparse:
        own.first = 2**31
    elif main.numel() and size == end - own.begin + 2 * RED_ZONE:
        own.first = own.begin
    ends = [
        one.offset + 1 + sum((n - 1) * stride for n, stride in zip(one.shape, one.strides, strict=True))
        for one in given
        if math.prod(one.shape)
    ]
    begins = [one.offset for one in given if math.prod(one.shape)]
    if main.numel() and (max(ends) > end or min(begins) < own.begin):
        if place.is_sparse:
            raise Unwritable(f"{name} is seen in parts of gigantic memory")
        begin, end = min(begins), max(ends)
        return Owned(name, (end - begin,), (1,), begin)
    return own


def _canary(dtype: torch.dtype) -> torch.Tensor:
    """The element that red zones hold."""
    return torch.full((8,), CANARY, dtype=torch.uint8).view(dtype)[:1]


def _cut(begin: int, end: int, size: int) -> str:
    if (begin, end) == (0, size):
        return ":"
    return f"{begin or ''}:{'' if end == size else end}"


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return tuple(reversed(strides))
