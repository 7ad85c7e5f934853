"""Script: the events of a recording as Python that makes the same calls and compares the same elements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from properties.contents import bits
from properties.reproducer.evidence import Pairs, copied
from properties.reproducer.labels import ELEMENTS, unravelled
from properties.reproducer.literals import TooLarge, has_payload, literal, numbers, spelled, subscript, unravel, wrapped
from properties.reproducer.recording import (
    Called,
    Captured,
    Event,
    Given,
    Place,
    Replayed,
    Unwritable,
    Version,
    Written,
)
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

    def index(self, offset: int) -> tuple[int, ...] | None:
        """The index of the element at that offset of the recording's storage; None where that is no element."""
        return unravelled(offset - self.begin, self.shape, self.strides)


@dataclass
class Body:
    """The lines that make the calls, and which helpers they need."""

    events: Sequence[Event]
    versions: Sequence[Version]
    asked: Sequence[Version]  # what is compared after the last event
    keep: Mapping[Place, torch.Tensor]  # which elements must be as they were, where not all
    owned: dict[Place, Owned] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    needs: set[str] = field(default_factory=set)
    kept: dict[tuple[Place, Event], str] = field(default_factory=dict)  # variables that hold versions
    last: int = 0  # the line at which the last call begins
    declared: dict[str, str] = field(default_factory=dict)  # what each variable was declared as
    alike: dict[str, str] = field(default_factory=dict)  # arguments that all calls of fused_sconv have in common

    def write(self) -> None:
        """Writes everything up to the comparison. Raises Unwritable."""
        self._own()
        for place, own in self.owned.items():
            if not place.is_result:
                self._declare(place, own)
        self._share()
        for number, event in enumerate(self.events):
            self.last = len(self.lines)
            if isinstance(event, Written):
                self._put(event)
            elif isinstance(event, Called):
                self.lines += self._call(event)
                self._keep(event, number)
            else:
                self._graph(event)
                self._keep(event, number)

    # Places.

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
            self._line(f"{own.name} = far({literal(values)}, {own.strides})")
            return
        self.needs |= {"laid"}
        if own.strides != _contiguous(own.shape) and values.numel():
            more += f", strides={own.strides}"
        more += f", shift={own.first - RED_ZONE}" if own.first != RED_ZONE else ""
        more += self._gap(place, own)
        self._line(f"{own.name} = laid({made}{more})")

    def _gap(self, place: Place, own: Owned) -> str:
        """What lies between the elements, as an argument, where that is no red zone."""
        extent = 1 + sum((n - 1) * stride for n, stride in zip(own.shape, own.strides, strict=True))
        if extent == math.prod(own.shape) or not math.prod(own.shape):
            return ""
        between = torch.ones(extent, dtype=torch.bool)
        between.as_strided(own.shape, own.strides, 0).fill_(False)
        between = place.begin[own.begin : own.begin + extent][between]
        common = between[bits(between) == bits(between).mode().values][:1]
        red = torch.full((8,), CANARY, dtype=torch.uint8).view(common.dtype)[:1]
        return "" if torch.equal(bits(common), bits(red)) else f", gap={numbers(common)[0]}"

    def _share(self) -> None:
        """Writes down once what all of several calls are given."""
        calls = [call for call in self.every_call if call.operator == "fused_sconv"]
        if len(calls) < 2:
            return
        every = [{name: self.argument(one) for name, one in call.arguments.items()} for call in calls]
        self.alike = {name: word for name, word in every[0].items() if all(one.get(name) == word for one in every)}
        self._line(f"alike = dict({', '.join(f'{name}={word}' for name, word in self.alike.items())})")

    def _begin(self, place: Place, own: Owned) -> torch.Tensor:
        flat = alike(place, self.keep[place]) if place in self.keep else place.begin
        if place.is_sparse:
            return flat.view(own.shape)
        return flat.as_strided(own.shape, own.strides, own.begin) if math.prod(own.shape) else flat.new_zeros(own.shape)

    # Events.

    def _put(self, event: Written) -> None:
        own = self.owned[event.place]
        labels = event.labels // ELEMENTS
        keep = self.keep.get(event.place)
        matters = torch.ones_like(labels, dtype=torch.bool) if keep is None else keep[event.at]
        for index in labels.unique().tolist():
            mine = ((labels == index) & matters).nonzero().flatten()
            if not len(mine):
                continue
            offsets = event.place.offsets[event.at[mine]]
            where = self.index(own, offsets)
            if where is None:
                continue  # memory around the tensor
            if index:
                source = self.expression(self.versions[index - 1], event.labels[mine] % ELEMENTS, is_list=True)
                self._line(f"{own.name}[{', '.join(map(str, where))}] = {source}")
            else:
                self._assign(own, offsets, event.values[mine])

    def _assign(self, own: Owned, offsets: torch.Tensor, values: torch.Tensor) -> None:
        places = [place for offset in offsets if (place := own.index(int(offset))) is not None]
        index = subscript(places, own.shape)
        if "[" not in index:
            lengths = [len(set(axis)) for axis in zip(*places, strict=True)]
            values = values.view([length for length in lengths if length > 1])
        is_one = not values.ndim and not has_payload(values)
        words = numbers(values.flatten())[0] if is_one else literal(values, device="DEVICE")
        self._line(f"{own.name}[{index}] = {words}")

    def index(self, own: Owned, offsets: torch.Tensor) -> list[list[int]] | None:
        """The elements at these offsets of a place as one list of indices for each axis; None if any is outside."""
        found = [place for offset in offsets if (place := own.index(int(offset))) is not None]
        return [list(axis) for axis in zip(*found, strict=True)] if len(found) == len(offsets) else None

    def _call(self, call: Called, indent: str = "") -> list[str]:
        given = {name: self.argument(one) for name, one in call.arguments.items()}
        alike = self.alike if call.operator == "fused_sconv" else {}
        arguments = [f"{name}={word}" for name, word in given.items() if name not in alike]
        words = f"{call.operator}({', '.join([*arguments, *(['**alike'] if alike else [])])})"
        result = f"{self.owned[call.result].name} = " if call.result is not None else ""
        if call.result is None and call.operator == "fused_sconv":
            result = "out = "
        if call.may_raise:
            return [f"{indent}try:", self._long(f"candidate.{words}", indent + "    "), f"{indent}    refusal = None",
                    f"{indent}except Exception as error:", f"{indent}    refusal = error"]  # fmt: skip  # five lines
        line = self._long(f"{result}candidate.{words}", f"{indent}    " if call.is_refusable else indent)
        if not call.is_refusable or call.operator != "fused_sconv":
            return [line]
        return [f"{indent}try:", line, f"{indent}except (AssertionError, ValueError, TypeError) as error:",
                f'{indent}    print(f"as it should be: the contract lets it refuse such tensors ({{error}})")',
                f"{indent}    sys.exit(0)"]  # fmt: skip  # five lines

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

    def _graph(self, event: Captured | Replayed) -> None:
        self.needs |= {"graph"}
        if isinstance(event, Replayed):
            self.lines.append(f"graph_{self._number(event.captured)}.replay()")
            return
        number = self._number(event)
        names = [self.owned[call.result].name if call.result else "" for call in event.calls]
        self.lines += [f"def step_{number}():"]
        if any(names):
            self.lines += [f"    global {', '.join(filter(None, names))}"]
        for call in event.calls:
            self.lines += self._call(call, "    ")
        self.lines += [f"graph_{number} = Graph(step_{number})"]

    def _number(self, captured: Captured) -> int:
        return [event for event in self.events if isinstance(event, Captured)].index(captured)

    # Versions.

    def _keep(self, event: Event, number: int) -> None:
        """Copies what an event left behind, where it is asked for after a later event may have changed it."""
        later = self.events[number + 1 :]
        wanted = {(version.place, version.event): len(later) for version in self.asked}
        for distance, other in enumerate(later):
            if isinstance(other, Written):
                for version in copied(other, self.versions):
                    wanted[version.place, version.event] = max(distance, wanted.get((version.place, version.event), 0))
        for (place, made), distance in wanted.items():
            if made is not event:
                continue
            name = self.owned[place].name
            if self._changes(place, later[:distance]):
                count = sum(one == name or one.startswith(f"{name}_after_") for one in self.kept.values())
                self.kept[place, event] = f"{name}_after_{count + 1}"
                self.lines.append(f"{name}_after_{count + 1} = {name}.clone()")
            else:
                self.kept[place, event] = name

    def _changes(self, place: Place, events: Sequence[Event]) -> bool:
        writes = {(version.event, version.place) for version in self.versions}
        return any(
            (event, place) in writes or (isinstance(event, Written) and event.place is place) for event in events
        )

    def variable(self, version: Version) -> str:
        """The variable that holds a version."""
        return self.kept.get((version.place, version.event), self.owned[version.place].name)

    def expression(self, version: Version, offsets: torch.Tensor, is_list: bool = False) -> str:
        """The elements of a version at these offsets, as Python; flat if it `is_list`."""
        own, name = self.owned[version.place], self.variable(version)
        if self._is_whole(own, offsets):
            return f"{name}.flatten()" if is_list else name
        index = self.index(own, offsets)
        if index is None:
            self.needs |= {"memory"}
            return f"memory({name})[{[int(offset) - own.begin + own.first for offset in offsets]}]"
        if not is_list:
            return f"{name}[{subscript(list(zip(*index, strict=True)), own.shape)}]"
        return f"{name}[{', '.join(map(str, index))}]"

    def _is_whole(self, own: Owned, offsets: torch.Tensor) -> bool:
        """Whether these are all elements of what a variable is, in order."""
        if len(offsets) != math.prod(own.shape):
            return False
        if own.begin == 0 and own.strides == _contiguous(own.shape):
            return bool((offsets == torch.arange(len(offsets))).all())
        return all(own.index(int(offset)) == unravel(i, own.shape) for i, offset in enumerate(offsets))

    def compare(self, one: Pairs) -> str:
        """The line that compares, after `wrong += `."""
        version = one.got_version
        own, name = self.owned[version.place], self.variable(version)
        if one.wanted_version is not None and one.wanted_at is not None:
            wanted = self.expression(one.wanted_version, one.wanted_at)
        else:
            wanted = spelled(one.wanted.flatten())[0]
        within = ""
        if one.allowed is not None:
            within = f", within=torch.as_tensor({spelled(one.allowed.flatten())[0]}, dtype=fp64)"
        if self._is_whole(own, one.got_at):
            return f"compare({own.name!r}, {name}, {wanted}{within})"
        index = self.index(own, one.got_at)
        if index is None:
            self.needs |= {"memory"}
            index = [[int(offset) - own.begin + own.first for offset in one.got_at]]
            return f"compare('memory of {own.name}', memory({name}), {wanted}, {index}{within})"
        return f"compare({own.name!r}, {name}, {wanted}, {index}{within})"

    def _line(self, line: str) -> None:
        self.lines.append(wrapped(line))

    def _long(self, line: str, indent: str) -> str:
        return "\n".join(indent + part for part in wrapped(line).splitlines())


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
