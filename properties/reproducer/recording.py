"""Recording: a case run once more, every operator call noted with all that it was given and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from properties.contents import bits
from properties.contract import OPERATORS, WRITTEN
from properties.engines.base import Ops
from properties.engines.recording import Recording
from properties.reproducer.labels import CONSTANT, DERIVED, ELEMENTS, SPARSE, Labels


class Unwritable(Exception):
    """No script can be made of a case, with the reason in one line."""


@dataclass(eq=False)
class Place:
    """Memory that a script will own: a storage that the operators were given, or one result.

    watched: what is looked after: the whole storage, flat; the first view of it where it is sparse; the result itself.
    offsets: of its elements in the storage, flat; in a result, from its first element on.
    values, labels: of those elements after the last event. begin: the values before the first.
    """

    name: str
    main: torch.Tensor  # the view with most elements
    watched: torch.Tensor
    offsets: torch.Tensor
    is_result: bool = False
    values: torch.Tensor = field(default_factory=lambda: torch.zeros(0))
    labels: torch.Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.int64))
    begin: torch.Tensor = field(default_factory=lambda: torch.zeros(0))

    @classmethod
    def of(cls, name: str, tensor: torch.Tensor) -> Place:
        """The place of an argument, by the first view of it."""
        size = tensor.untyped_storage().nbytes() // tensor.element_size()
        if size < SPARSE:
            return cls(name, tensor, tensor.as_strided((size,), (1,), 0), torch.arange(size))
        offsets = torch.zeros((), dtype=torch.int64)
        for length, stride in zip(tensor.shape, tensor.stride(), strict=True):
            offsets = offsets[..., None] + torch.arange(length) * stride
        return cls(name, tensor, tensor, offsets.flatten() + int(tensor.storage_offset()))

    @classmethod
    def of_result(cls, tensor: torch.Tensor) -> Place:
        """The place of a result."""
        return cls("out", tensor, tensor, torch.arange(tensor.numel()), is_result=True)

    @property
    def is_sparse(self) -> bool:
        """Whether its memory is gigantic."""
        return self.watched.untyped_storage().nbytes() // self.watched.element_size() >= SPARSE

    def read(self) -> torch.Tensor:
        """What it holds, flat, on the host."""
        return self.watched.detach().cpu().flatten().clone()


@dataclass(eq=False)
class Written:
    """The host puts constants, or elements of versions, into a place: labels say which."""

    place: Place
    at: torch.Tensor  # indices into the place's offsets
    values: torch.Tensor
    labels: torch.Tensor


@dataclass(eq=False)
class Given:
    """A tensor argument: a view of a place."""

    place: Place
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int  # in the storage


@dataclass(eq=False)
class Called:
    """One call of an operator.

    may_raise: the host only asks whether it is refused. is_refusable: it has asked so of the same shapes and strides.
    """

    operator: str
    arguments: dict[str, Any]
    may_raise: bool = False
    is_refusable: bool = False
    result: Place | None = None
    error: BaseException | None = None

    @property
    def calls(self) -> list[Called]:
        """Itself."""
        return [self]

    @property
    def layout(self) -> dict[str, Any]:
        """Shapes, strides and dtypes of its tensors."""
        given = {name: one for name, one in self.arguments.items() if isinstance(one, Given)}
        return {name: (one.shape, one.strides, one.place.main.dtype) for name, one in given.items()}


@dataclass(eq=False)
class Captured:
    """A region's calls, captured in a graph."""

    calls: list[Called] = field(default_factory=list)
    error: BaseException | None = None


@dataclass(eq=False)
class Replayed:
    """A captured region run again."""

    captured: Captured
    error: BaseException | None = None

    @property
    def calls(self) -> list[Called]:
        """Those of the region."""
        return self.captured.calls


Run = Called | Captured | Replayed
Event = Run | Written


def places_of(event: Event) -> list[Place]:
    """What an event's calls were given."""
    if isinstance(event, Written):
        return [event.place]
    return [one.place for call in event.calls for one in call.arguments.values() if isinstance(one, Given)]


@dataclass(frozen=True)
class Version:
    """What a place held after an event."""

    place: Place
    event: Event


class RecordingOps(Ops):
    """The operators, noting every call. Labels count `versions` from 1."""

    def __init__(self, ops: Ops, labels: Labels) -> None:
        super().__init__(ops.candidate, ops.engine)
        self.tuned.choice = ops.tuned.choice
        self.follow = labels
        self.events: list[Event] = []
        self.versions: list[Version] = []
        self.places: dict[int, Place] = {}
        self._region: Captured | None = None
        self._recordings: list[tuple[Recording, Captured]] = []
        self._results: list[Place] = []

    def _observe(self, operator: str, context: Any, result: object) -> None:
        """Hazards count for the property that is about them alone, and are in the tally already."""
        if self._property.startswith("hazards."):
            super()._observe(operator, context, result)

    def refusal(self, operator: str, *arguments: Any, **named: Any) -> BaseException | None:
        """Notes the call as one that may raise."""
        event = self._begin(operator, arguments, named)
        event.may_raise = True
        with self.follow.paused():
            error = super().refusal(operator, *arguments, **named)
        event.error = error
        self._settle(event)
        return error

    def _call(self, operator: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        __tracebackhide__ = True
        event = self._begin(operator, arguments, named)
        with self._noting(event):
            result = super()._call(operator, arguments, named)
        with self.follow.paused():
            if isinstance(result, torch.Tensor) and self._key(result) not in self.places:
                event.result = Place.of_result(result)
                self._results.append(event.result)
        if self._region is None:
            self._settle(event)
        return result

    def capture(self, region: Callable[[], Any], pool: Any = None) -> Recording:
        """Notes the calls of a region as one event."""
        __tracebackhide__ = True
        self._sync(list(self.places.values()))
        event = self._region = Captured()
        self.events.append(event)
        try:
            with self._noting(event):
                recording = super().capture(region, pool)
        finally:
            self._region = None
        self._recordings.append((recording, event))
        self._settle(event)
        return recording

    def replay(self, recording: Recording) -> None:
        """Notes a replay."""
        __tracebackhide__ = True
        self._sync(list(self.places.values()))
        event = Replayed(next(captured for known, captured in self._recordings if known is recording))
        self.events.append(event)
        with self._noting(event):
            super().replay(recording)
        self._settle(event)

    @contextmanager
    def _noting(self, event: Run) -> Iterator[None]:
        try:
            with self.follow.paused():
                yield
        except BaseException as error:
            event.error = error
            raise

    def _begin(self, operator: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Called:
        given = {**dict(zip(OPERATORS[operator], arguments, strict=False)), **named}
        with self.follow.paused():
            event = Called(operator, {name: self._noted(name, one) for name, one in given.items()})
        if self._region is not None:
            self._region.calls.append(event)
        else:
            self._sync(places_of(event))
            asked = [one for one in self.events if isinstance(one, Called) and one.may_raise]
            event.is_refusable = any(one.operator == operator and one.layout == event.layout for one in asked)
            self.events.append(event)
        return event

    def _noted(self, name: str, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        key = self._key(value)
        if key not in self.places:
            if self._region is not None:
                raise Unwritable(f"{name} was first seen inside of a capture")
            place = self.places[key] = Place.of(name, value)
            place.values = place.begin = place.read()
            place.labels = torch.full_like(place.offsets, CONSTANT)
        place = self.places[key]
        if value.numel() > place.main.numel():
            if place.is_sparse:
                raise Unwritable(f"{name} was first seen as a part of it")
            place.main = value
        return Given(place, tuple(value.shape), value.stride(), int(value.storage_offset()))

    @staticmethod
    def _key(tensor: torch.Tensor) -> int:
        return tensor.untyped_storage().data_ptr() if tensor.numel() else -id(tensor)

    def _sync(self, places: list[Place]) -> None:
        """Notes what the host has written into places since the last event."""
        with self.follow.paused():
            for place in dict.fromkeys(places):
                values, labels = place.read(), self.follow.of(place.watched).flatten().clone()
                is_moved = labels != place.labels
                changed = is_moved | (bits(values) != bits(place.values))
                if not changed.any():
                    continue
                if (labels[changed] == DERIVED).any():
                    raise Unwritable(f"the host computed {place.name} from results")
                if (changed & ~is_moved & (labels != CONSTANT)).any():
                    raise Unwritable(f"{place.name} was changed unseen")
                at = changed.nonzero().flatten()
                self.events.append(Written(place, at, values[at], labels[at]))
                place.values, place.labels = values, labels

    def _settle(self, event: Run) -> None:
        """Labels what an event may have changed: all that it writes by contract, and whatever else differs."""
        with self.follow.paused():
            for place, is_written in self._touched(event).items():
                values = place.read()
                if len(place.values) != len(values):  # a result's first
                    place.values, place.labels = values, torch.full_like(place.offsets, CONSTANT)
                fresh = bits(values) != bits(place.values)
                place.values = values
                if not (is_written or fresh.any()):
                    continue
                self.versions.append(Version(place, event))
                own = len(self.versions) * ELEMENTS + place.offsets
                place.labels = own if is_written else torch.where(fresh, own, place.labels)
                self.follow.give(place.watched, place.labels.view(place.watched.shape))

    def _touched(self, event: Run) -> dict[Place, bool]:
        """Every place that an event was given or made, and whether it writes it by contract."""
        static = [call.result for _, captured in self._recordings for call in captured.calls if call.result]
        made = {self._key(call.result.main) for call in event.calls if call.result}
        again = [place for place in self._results if self._key(place.main) in made]  # its memory was handed out twice
        touched = dict.fromkeys([*static, *again], False)
        for call in event.calls:
            for name, one in call.arguments.items():
                if isinstance(one, Given):
                    touched[one.place] = touched.get(one.place, False) or name in WRITTEN
            if call.result is not None:
                touched[call.result] = True
        return touched
