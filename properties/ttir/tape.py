"""A captured region on the host: what a CUDA graph would hold, to be run again on refilled buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .fresh import EMPTY
from .host_reads import HostReads, reading
from .launching import TAPES, Launch


class CaptureForbidden(RuntimeError):
    """The region does what no CUDA graph can hold."""


class Tape(TorchDispatchMode):
    """Runs a region once and notes, in order, torch's operations and Triton's launches; `replay` does them again.

    As in a CUDA graph, addresses, scalars, grids and every decision of the host are frozen; contents are not. Tensors
    that the region makes keep their memory. With `is_capture` off it only notes launches, and forbids nothing.
    """

    def __init__(self, is_capture: bool = True) -> None:
        super().__init__()
        self.is_capture = is_capture
        self.launches: list[Launch] = []
        self._entries: list[Callable[[], None] | Launch] = []
        self._is_paused = False
        self._made: list[torch.Tensor] = []
        self._forbidden: CaptureForbidden | None = None
        self._readings = HostReads(self.forbid)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # as in fresh: the import that torch would do costs seconds

    def __enter__(self) -> Tape:
        TAPES.append(self)
        super().__enter__()
        if self.is_capture:
            self._readings.__enter__()
        return self

    def __exit__(self, *reason: Any) -> None:
        if self.is_capture:
            self._readings.__exit__(*reason)
        super().__exit__(*reason)
        TAPES.pop()
        if self._forbidden is not None and reason[:1] == (None,):
            raise self._forbidden  # the region caught it, but a capture is invalid from there on

    @contextmanager
    def launching(self, launch: Launch) -> Iterator[None]:
        """Notes a launch; what the machine itself asks of torch while it runs is none of the region's."""
        self.launches.append(launch)
        self._entries.append(launch)
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    def replay(self, run: Callable[[Sequence[Launch]], None]) -> None:
        """Does everything again, on whatever the buffers hold now; `run` launches, as `Machine.replay` does."""
        with torch.inference_mode():  # tensors of a region that ran in it may be written in it alone
            for entry in self._entries:
                if isinstance(entry, Launch):
                    run([entry])
                else:
                    entry()

    def forget(self) -> None:
        """Spoils what the region made: a capture on a GPU runs nothing, so no one may count on it before a replay."""
        with torch.inference_mode():
            for tensor in self._made:
                _poison(tensor)

    def forbid(self, name: str) -> None:
        """Raises if the region may not read contents on the host."""
        if self.is_capture and not self._is_paused:
            what = f"operation not permitted when stream is capturing: {name}"
            self._forbidden = self._forbidden or CaptureForbidden(what)
            raise self._forbidden

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._is_paused or not self.is_capture:
            return function(*args, **kwargs)
        if what := reading(function, args, kwargs):
            self.forbid(what)
        result = function(*args, **kwargs)
        again = _again(function, args, kwargs, result)
        if again is not None:
            self._entries.append(again)
            if not any(one.alias_info is not None for one in function._schema.arguments):
                self._made += [one for one in _flat(result) if isinstance(one, torch.Tensor)]
        return result


def _again(function: Any, args: Any, kwargs: Any, result: Any) -> Callable[[], None] | None:
    """Returns what does an operation again into the same memory; None where it only looks at memory."""
    if function in EMPTY:
        return lambda: _poison(result)
    if any(argument.alias_info is not None and argument.alias_info.is_write for argument in function._schema.arguments):
        return lambda: function(*args, **kwargs)
    if any(returned.alias_info is not None for returned in function._schema.returns):
        return None
    outputs = [one for one in _flat(result) if isinstance(one, torch.Tensor)]
    if not outputs:
        return None

    def refill() -> None:
        news = [one for one in _flat(function(*args, **kwargs)) if isinstance(one, torch.Tensor)]
        for old, new in zip(outputs, news, strict=True):
            if old.shape != new.shape:
                raise CaptureForbidden(f"{function} gives shape {tuple(new.shape)}, {tuple(old.shape)} at capture")
            old.copy_(new)

    return refill


def _flat(result: Any) -> Sequence[Any]:
    return result if isinstance(result, (list, tuple)) else [result]


def _poison(tensor: torch.Tensor) -> None:
    """Fills memory that the region gets and has not written: it may hold anything then."""
    if tensor.dtype.is_floating_point:
        tensor.fill_(float("nan"))
    else:
        tensor.fill_(True if tensor.dtype == torch.bool else torch.iinfo(tensor.dtype).max)


def frozen(graph: Sequence[Launch], eager: Sequence[Launch]) -> str:
    """Says in a few words in which launches a captured region differs from an eager run, or nothing."""
    names, others = ([launch.kernel for launch in side] for side in (graph, eager))
    if names != others:
        return f"the graph launches {', '.join(names) or 'nothing'}; the eager run {', '.join(others) or 'nothing'}"
    for one, other in zip(graph, eager, strict=True):
        if one.grid != other.grid:
            return f"{one.kernel} has a grid of {one.grid} in the graph, of {other.grid} in the eager run"
        for name in {**one.scalars, **other.scalars}:
            # what is 1, or a constant, is no argument any more
            mine, its = (launch.scalars.get(name, "built in") for launch in (one, other))
            if mine != its:
                return f"{one.kernel} gets {name} = {mine} in the graph, {its} in the eager run"
    return ""
