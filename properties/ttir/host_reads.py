"""What the host reads of tensors, which a capture refuses: named by what a wrapper writes for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import dlpack

from .replacing import Method, replaced

# what waits for the device, and so cannot be captured; torch's own calls of it on CUDA raise as well
OPERATIONS = {
    torch.ops.aten._local_scalar_dense.default: "item(), bool() or int()",
    torch.ops.aten.equal.default: "torch.equal()",
    torch.ops.aten.allclose.default: "allclose()",
    torch.ops.aten.is_nonzero.default: "is_nonzero()",
    torch.ops.aten.nonzero.default: "nonzero(), or where() of one argument,",
    torch.ops.aten.masked_select.default: "masked_select()",
    torch.ops.aten.unique_dim.default: "unique()",
    torch.ops.aten._unique2.default: "unique()",
    torch.ops.aten.unique_consecutive.default: "unique_consecutive()",
    torch.ops.aten.unique_dim_consecutive.default: "unique_consecutive()",
    torch.ops.aten.bincount.default: "bincount()",
}
# the same, where a tensor on the host needs no operation for it, or one that torch hides from whoever watches
METHODS = {
    "cpu": "Tensor.cpu() copies a tensor to the host",
    "numpy": "Tensor.numpy() hands a tensor to the host",
    "tolist": "Tensor.tolist() copies a tensor to the host",
    "__array__": "numpy.asarray(), or another function of NumPy, reads a tensor on the host (Tensor.__array__)",
    "__dlpack__": "from_dlpack() of another library than torch hands a tensor to the host (Tensor.__dlpack__)",
    "__repr__": "print(), str() or repr() reads contents of a tensor on the host",
    "__format__": "an f-string or format() reads contents of a tensor on the host",
    "__contains__": "the operator `in` reads contents of a tensor on the host",
}
# of a tensor's storage, which torch watches nowhere
STORAGES = {
    "__iter__": "bytes() or list() of a tensor's storage copies it to the host",
    "__getitem__": "an element of a tensor's storage is read on the host",
    "tolist": "tolist() of a tensor's storage copies it to the host",
    "cpu": "cpu() of a tensor's storage copies it to the host",
    "__repr__": "print(), str() or repr() of a tensor's storage reads it on the host",
    "__str__": "print(), str() or repr() of a tensor's storage reads it on the host",
    "__reduce__": "pickling a tensor copies it to the host",
}
# what copies from the host's memory, which a capture forbids unless the copy stays there
COPYING = {torch.tensor, torch.as_tensor}
# what takes a tensor of one element from the host too, and copies it: others hand it to their kernel by value
COPYING_SCALARS = {torch.where, torch.Tensor.where}


def reading(function: Any, args: Any, kwargs: Any) -> str:
    """What an operation reads on the host, in words; nothing for most."""
    name = OPERATIONS.get(function, "")
    if _selects(function, args):
        name = "an index that is a boolean mask"
    if _counts(function, kwargs):
        name = "repeat_interleave() without output_size"
    return f"{name} reads contents of a tensor on the host" if name else ""


class HostReads(TorchFunctionMode):
    """Tells `forbid` what reads a tensor on the host without an operation that could be seen."""

    def __init__(self, forbid: Callable[[str], None]) -> None:
        super().__init__()
        self.forbid = forbid
        self.on_host: list[torch.Tensor] = []  # that the region made there
        self._storages: list[AbstractContextManager[Any]] = []

    def __enter__(self) -> HostReads:
        super().__enter__()
        self._storages.append(_storages_watched(self.forbid))
        self._storages[-1].__enter__()
        return self

    def __exit__(self, *reason: Any) -> None:
        self._storages.pop().__exit__(*reason)
        super().__exit__(*reason)

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = [*args, *kwargs.values()]
        makes = function in COPYING and not isinstance(args[0] if args else kwargs.get("data"), torch.Tensor)
        if (words := self._read(function, args)) is not None:
            self.forbid(words)
        if function is torch.Tensor.to and ("cpu" in args[1:] or kwargs.get("device") == "cpu"):
            self.forbid("Tensor.to() copies a tensor to the host")
        if makes and "device" in kwargs:
            self.forbid(f"torch.{function.__name__} copies from the host to a device")
        if function in COPYING_SCALARS and any(one is other for one in given for other in self.on_host):
            self.forbid(f"torch.{function.__name__} copies a tensor of the host to a device")
        result = function(*args, **kwargs)
        if makes and "device" not in kwargs:
            self.on_host.append(result)
        return result

    def _read(self, function: Any, args: Any) -> str | None:
        """What a method of a tensor reads, in words; None for most, and for what the region made on the host."""
        name = getattr(function, "__name__", "")
        if name not in METHODS or getattr(torch.Tensor, name) is not function:  # which `fresh` may have replaced
            return None
        if any(args[0] is one for one in self.on_host) or (name == "__dlpack__" and _is_within(dlpack.from_dlpack)):
            return None
        return METHODS[name]


@contextmanager
def _storages_watched(forbid: Callable[[str], None]) -> Iterator[None]:
    """Tells `forbid` what reads a storage."""
    with ExitStack() as stack:
        for kind in (torch.UntypedStorage, torch.TypedStorage):
            stack.enter_context(replaced(kind, STORAGES, partial(_refusing, forbid)))
        yield


def _refusing(forbid: Callable[[str], None], name: str, method: Method) -> Method:
    def refusing(storage: Any, *args: Any, **kwargs: Any) -> Any:
        if not (args and isinstance(args[0], slice)):  # which is a part of the same memory
            forbid(STORAGES[name])
        return method(storage, *args, **kwargs)

    return refusing


def _is_within(function: Any) -> bool:
    """Says whether a function is being called: torch takes its own tensors back, and they stay on the device."""
    frame = sys._getframe().f_back
    while frame is not None and frame.f_code is not function.__code__:
        frame = frame.f_back
    return frame is not None


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
