"""Events: what happened in a case, call by call, and the memory that it happened to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from properties.reproducer.labels import SPARSE


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
