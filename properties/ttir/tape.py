"""A captured region on the host: what a CUDA graph would hold, to be run again on refilled buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .fresh import EMPTY
from .launching import TAPES, Launch

# what waits for the device, and so cannot be captured; torch's own calls of it on CUDA raise as well
HOST_READS = {
    torch.ops.aten._local_scalar_dense.default,
    torch.ops.aten.equal.default,
    torch.ops.aten.is_nonzero.default,
    torch.ops.aten.nonzero.default,
    torch.ops.aten.masked_select.default,
    torch.ops.aten.unique_dim.default,
    torch.ops.aten._unique2.default,
    torch.ops.aten.unique_consecutive.default,
    torch.ops.aten.unique_dim_consecutive.default,
    torch.ops.aten.bincount.default,
}
_NAMES = {torch.ops.aten._local_scalar_dense.default: "item(), bool() or int()"}
# the same, where a tensor on the host needs no operation for it
READING_METHODS = {
    torch.Tensor.cpu,
    torch.Tensor.numpy,
    torch.Tensor.tolist,
    torch.Tensor.__array__,
}
# what copies from the host's memory, which a capture forbids unless the copy stays there
COPYING = {torch.tensor, torch.as_tensor}
# what takes a tensor of one element from the host too, and copies it: others hand it to their kernel by value
COPYING_SCALARS = {torch.where, torch.Tensor.where}


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
        self._readings = _Readings(self)

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
        if function in HOST_READS or _selects(function, args) or _counts(function, kwargs):
            self.forbid(f"{_NAMES.get(function, str(function))} reads contents of a tensor on the host")
        result = function(*args, **kwargs)
        again = _again(function, args, kwargs, result)
        if again is not None:
            self._entries.append(again)
            if not any(one.alias_info is not None for one in function._schema.arguments):
                self._made += [one for one in _flat(result) if isinstance(one, torch.Tensor)]
        return result


class _Readings(TorchFunctionMode):
    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self.tape = tape
        self.on_host: list[torch.Tensor] = []  # that the region made there

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = [*args, *kwargs.values()]
        makes = function in COPYING and not isinstance(args[0] if args else kwargs.get("data"), torch.Tensor)
        to_host = function is torch.Tensor.to and ("cpu" in args[1:] or kwargs.get("device") == "cpu")
        if function in READING_METHODS or to_host:
            self.tape.forbid(f"Tensor.{function.__name__} copies a tensor to the host")
        if makes and "device" in kwargs:
            self.tape.forbid(f"torch.{function.__name__} copies from the host to a device")
        if function in COPYING_SCALARS and any(one is other for one in given for other in self.on_host):
            self.tape.forbid(f"torch.{function.__name__} copies a tensor of the host to a device")
        result = function(*args, **kwargs)
        if makes and "device" not in kwargs:
            self.on_host.append(result)
        return result


def _counts(function: Any, kwargs: Any) -> bool:
    """Says whether the size of a result is the sum of contents."""
    return function is torch.ops.aten.repeat_interleave.Tensor and kwargs.get("output_size") is None


def _selects(function: Any, args: Any) -> bool:
    """Says whether an index is a boolean mask, whose number of true elements the host would have to know."""
    if function not in (torch.ops.aten.index.Tensor, torch.ops.aten.index_put_.default):
        return False
    return any(index is not None and index.dtype == torch.bool for index in args[1]) and (
        function is torch.ops.aten.index.Tensor or args[2].numel() > 1
    )


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
