"""Recording: a case run once more, every operator call noted with all that it was given and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from properties.contents import bits
from properties.contract import OPERATORS, WRITTEN
from properties.engines.base import Ops
from properties.engines.recording import Recording
from properties.reproducer.events import (
    Called,
    Captured,
    Event,
    Given,
    Place,
    Replayed,
    Run,
    Unwritable,
    Version,
    Written,
    places_of,
)
from properties.reproducer.labels import CONSTANT, DERIVED, ELEMENTS, Labels

MOST_ROWS = 4096  # of a forward


class RecordingOps(Ops):
    """The operators, noting every call. Labels count `versions` from 1."""

    def __init__(self, ops: Ops, labels: Labels) -> None:
        super().__init__(ops.candidate, ops.engine)
        self.tuned.choice, self.baseline = ops.tuned.choice, ops.baseline
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
        if (x := given.get("x")) is not None and len(x) > MOST_ROWS:
            raise Unwritable(f"x has {len(x):,} rows, and a script should have at most {MOST_ROWS:,}")
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
