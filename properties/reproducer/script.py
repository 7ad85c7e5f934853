"""Script: the events of a recording as Python that makes the same calls and compares the same elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from properties.contents import bits
from properties.reproducer.events import (
    Called,
    Captured,
    Event,
    Place,
    Replayed,
    Version,
    Written,
)
from properties.reproducer.evidence import Pairs, copied
from properties.reproducer.labels import ELEMENTS
from properties.reproducer.literals import has_payload, listed, literal, numbers, spelled, subscript, wrapped
from properties.reproducer.variables import Owned, Variables


@dataclass
class Body:
    """The lines that make the calls, and which helpers they need."""

    events: Sequence[Event]
    versions: Sequence[Version]
    asked: Sequence[Version]  # what is compared after the last event
    keep: Mapping[Place, torch.Tensor]  # which elements must be as they were, where not all
    lines: list[str] = field(default_factory=list)
    kept: dict[tuple[Place, Event], str] = field(default_factory=dict)  # variables that hold versions
    last: int = 0  # the line at which the last call begins
    alike: dict[str, str] = field(default_factory=dict)  # arguments that all calls of fused_sconv have in common

    def __post_init__(self) -> None:
        self.names = Variables(self.events, self.versions, self.keep)
        self.needs = self.names.needs

    def write(self) -> None:
        """Writes everything up to the comparison. Raises Unwritable."""
        self.names.write()
        self.lines += self.names.lines
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

    def _share(self) -> None:
        """Writes down once what all of several calls are given."""
        calls = [call for call in self.names.every_call if call.operator == "fused_sconv"]
        if len(calls) < 2:
            return
        every = [{name: self.names.argument(one) for name, one in call.arguments.items()} for call in calls]
        self.alike = {name: word for name, word in every[0].items() if all(one.get(name) == word for one in every)}
        self._line(f"alike = dict({', '.join(f'{name}={word}' for name, word in self.alike.items())})")

    def _put(self, event: Written) -> None:
        own = self.names.owned[event.place]
        labels = event.labels // ELEMENTS
        keep = self.keep.get(event.place)
        matters = torch.ones_like(labels, dtype=torch.bool) if keep is None else keep[event.at]
        for index in labels.unique().tolist():
            mine = ((labels == index) & matters).nonzero().flatten()
            if not len(mine):
                continue
            offsets = event.place.offsets[event.at[mine]]
            where = own.indices(offsets)
            if where is None:
                continue  # memory around the tensor
            if index:
                source = self.expression(self.versions[index - 1], event.labels[mine] % ELEMENTS, is_list=True)
                self._line(f"{own.name}[{', '.join(map(listed, where))}] = {source}")
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

    def _call(self, call: Called, indent: str = "") -> list[str]:
        given = {name: self.names.argument(one) for name, one in call.arguments.items()}
        alike = self.alike if call.operator == "fused_sconv" else {}
        arguments = [f"{name}={word}" for name, word in given.items() if name not in alike]
        words = f"{call.operator}({', '.join([*arguments, *(['**alike'] if alike else [])])})"
        result = f"{self.names.owned[call.result].name} = " if call.result is not None else ""
        if call.result is None and call.operator == "fused_sconv":
            result = "out = "
        if call.may_raise:
            return [f"{indent}try:", self._long(f"candidate.{words}", indent + "    "), f"{indent}    refusal = None",
                    f"{indent}except Exception as error:", f"{indent}    refusal = error"]  # fmt: skip  # five lines
        line = self._long(f"{result}candidate.{words}", f"{indent}    " if call.is_refusable else indent)
        if not call.is_refusable or call.operator != "fused_sconv":
            return [line]
        return [f"{indent}try:", line, f"{indent}except (AssertionError, ValueError, TypeError) as error:",
                f'{indent}    print(f"{{PROPERTY}} holds: the contract lets it refuse such tensors ({{error}})")',
                f"{indent}    sys.exit(0)"]  # fmt: skip  # five lines

    def _graph(self, event: Captured | Replayed) -> None:
        self.needs |= {"graph"}
        if isinstance(event, Replayed):
            self.lines.append(f"graph_{self._number(event.captured)}.replay()")
            return
        number = self._number(event)
        names = [self.names.owned[call.result].name if call.result else "" for call in event.calls]
        self.lines += ["", f"def step_{number}():"]
        if any(names):
            self.lines += [f"    global {', '.join(filter(None, names))}"]
        for call in event.calls:
            self.lines += self._call(call, "    ")
        self.lines += ["", f"graph_{number} = Graph(step_{number})"]

    def _number(self, captured: Captured) -> int:
        return [event for event in self.events if isinstance(event, Captured)].index(captured)

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
            name = self.names.owned[place].name
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
        return self.kept.get((version.place, version.event), self.names.owned[version.place].name)

    def expression(self, version: Version, offsets: torch.Tensor, is_list: bool = False) -> str:
        """The elements of a version at these offsets, as Python; flat if it `is_list`."""
        own, name = self.names.owned[version.place], self.variable(version)
        if own.is_whole(offsets):
            return f"{name}.flatten()" if is_list else name
        index = own.indices(offsets)
        if index is None:
            self.needs |= {"memory"}
            return f"memory({name})[{own.numbers_in_memory(offsets)}]"
        if not is_list:
            return f"{name}[{subscript(list(zip(*index, strict=True)), own.shape)}]"
        return f"{name}[{', '.join(map(listed, index))}]"

    def compare(self, one: Pairs) -> str:
        """The line that compares, after `wrong += `."""
        version = one.got_version
        own, name = self.names.owned[version.place], self.variable(version)
        index = own.indices(one.got_at)
        right = one.wanted.flatten()
        if one.wanted_version is not None and one.wanted_at is not None:
            wanted = self.expression(one.wanted_version, one.wanted_at)
        elif index is None and _is_untouched(version.place, one.got_at, right):
            wanted = spelled(own.around(one.got_at, right.dtype))[0]  # as it was, which the script has made alike
        else:
            wanted = spelled(right)[0]
        within = ""
        if one.allowed is not None:
            within = f", within=torch.as_tensor({spelled(one.allowed.flatten())[0]}, dtype=fp64)"
        if own.is_whole(one.got_at):
            return f'compare("{own.name}", {name}, {wanted}{within})'
        if index is None:
            self.needs |= {"memory"}
            at = [own.numbers_in_memory(one.got_at)]
            return f'compare("memory of {own.name}", memory({name}), {wanted}, {at}{within})'
        return f'compare("{own.name}", {name}, {wanted}, [{", ".join(map(listed, index))}]{within})'

    def _line(self, line: str) -> None:
        self.lines.append(wrapped(line))

    def _long(self, line: str, indent: str) -> str:
        return "\n".join(indent + part for part in wrapped(line).splitlines())


def _is_untouched(place: Place, at: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Whether elements should be what they were before the first event."""
    return not place.is_sparse and torch.equal(bits(wanted), bits(place.begin[at]))
