"""Memory that nothing has written yet: tensors made by torch.empty while the machine is active."""

from __future__ import annotations

import mmap
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .hazard import Hazard, line_text
from .replacing import Method, replaced
from .scratch import DENSE_POSITIONS, MAP_NORESERVE

EMPTY = {
    torch.ops.aten.empty.memory_format,
    torch.ops.aten.empty_like.default,
    torch.ops.aten.empty_strided.default,
    torch.ops.aten.new_empty.default,
    torch.ops.aten.new_empty_strided.default,
}
# what carries memory over as it is, written or not
COPIES = {
    torch.ops.aten.clone.default,
    torch.ops.aten._to_copy.default,
}
# what hands memory to code that neither torch nor the machine sees
ESCAPES = ("numpy", "__array__", "__dlpack__", "apply_", "map_", "map2_")


class _Storage:
    """One boolean per item of a storage, true once written."""

    def __init__(self, tensor: torch.Tensor, forget: Callable[[weakref.ref[torch.Tensor]], None]) -> None:
        # once the tensor is gone, its address may be anything's
        self.owner = weakref.ref(tensor, forget)
        self.item = tensor.element_size()
        self.bytes = tensor.untyped_storage().nbytes()
        count = self.bytes // self.item
        if count > DENSE_POSITIONS:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
            self.written = np.frombuffer(mmap.mmap(-1, count, flags=flags), bool)
        else:
            self.written = np.zeros(count, bool)


class Fresh(TorchDispatchMode):
    """Knows the fresh storages; any other operation that writes to one makes it ordinary memory."""

    def __init__(self) -> None:
        super().__init__()
        self.storages: dict[int, _Storage] = {}
        self.escapes: list[AbstractContextManager[None]] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # nothing is compiled here, and the import that torch would do for it takes four seconds
        return False

    def enter(self) -> None:
        self.__enter__()
        # a mode that sees every call would cost each `x.shape` of a wrapper
        self.escapes.append(replaced(torch.Tensor, ESCAPES, self._escaping))
        self.escapes[-1].__enter__()

    def exit(self) -> None:
        self.escapes.pop().__exit__(None, None, None)
        self.__exit__(None, None, None)

    def _escaping(self, name: str, method: Method) -> Method:
        """A method that hands a tensor's memory to code that writes unseen: it counts as written from then on."""

        def escaping(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            self.forget(tensor)
            return method(tensor, *args, **kwargs)

        return escaping

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function in EMPTY:
            if result.device.type == "cpu" and result.numel():
                self._remember(result)
        else:
            self._settle(function, args, kwargs or {}, result)
        return result

    def _remember(self, tensor: torch.Tensor) -> None:
        address = tensor.untyped_storage().data_ptr()

        def gone(owner: weakref.ref[torch.Tensor]) -> None:
            found = self.storages.get(address)
            if found is not None and found.owner is owner:
                del self.storages[address]

        self.storages[address] = _Storage(tensor, gone)

    def _settle(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Notes what was written, copied as it was, or made anew at the address of a storage that is gone."""
        if not self.storages:
            return
        for position, argument in enumerate(function._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                written = args[position] if position < len(args) else kwargs.get(argument.name)
                for tensor in written if isinstance(written, (list, tuple)) else [written]:
                    self._written(tensor, args[1] if function is torch.ops.aten.copy_.default else None)
        is_view = any(returned.alias_info is not None for returned in function._schema.returns)
        if not is_view:
            for tensor in result if isinstance(result, (list, tuple)) else [result]:
                self.forget(tensor)
        if function in COPIES:
            self._copied(args[0], result)

    def _written(self, tensor: Any, source: torch.Tensor | None) -> None:
        """Takes the elements of a tensor, or view, for written; those copied from `source`, as they were there."""
        flags = self._flags(tensor)
        if flags is None:
            self.forget(tensor)
            return
        known = None if source is None else self._flags(source)
        flags[...] = True if known is None else known

    def _copied(self, source: torch.Tensor, copy: torch.Tensor) -> None:
        """Gives a copy what is known of its source."""
        known = self._flags(source)
        if known is None or known.all() or copy.device.type != "cpu":
            return
        self._remember(copy)
        flags = self._flags(copy)
        assert flags is not None  # it was remembered just now
        flags[...] = known

    def _flags(self, tensor: Any) -> np.ndarray | None:
        """Returns the written flags of a tensor's elements in its shape, or None if its memory counts as written."""
        if not isinstance(tensor, torch.Tensor) or tensor.device.type != "cpu":
            return None
        flags = self.shadow(tensor)
        return None if flags is None else np.lib.stride_tricks.as_strided(flags, tuple(tensor.shape), tensor.stride())

    def forget(self, tensor: Any) -> None:
        """Takes a tensor's storage for written."""
        if isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu":
            self.storages.pop(tensor.untyped_storage().data_ptr(), None)

    def may_know(self, tensor: torch.Tensor, address: int, item: int) -> bool:
        """Says quickly whether a tensor's storage, found by arithmetic, is a fresh one."""
        return address - tensor.storage_offset() * item in self.storages

    def shadow(self, tensor: torch.Tensor) -> np.ndarray | None:
        """Returns the written flags of a tensor's extent, or None if its memory counts as written."""
        if not self.storages:
            return None
        storage = tensor.untyped_storage()
        found = self.storages.get(storage.data_ptr())
        if found is None or found.item != tensor.element_size() or found.bytes != storage.nbytes():
            return None
        return found.written[tensor.storage_offset() :]

    def unwritten(self, tensor: torch.Tensor, place: tuple[str, str, str, int]) -> Hazard | None:
        """Returns a hazard that names the first element of a fresh tensor that nothing wrote.

        `place` is the argument's name, and the kernel, file and line of the last launch that got the tensor.
        """
        shaped = self._flags(tensor)
        if shaped is None:
            return None
        missing = int(shaped.size - np.count_nonzero(shaped))
        if not missing:
            return None
        first = tuple(int(place[0]) for place in np.nonzero(~shaped))
        name, kernel, file, line = place
        return Hazard("never written", kernel, file, line, line_text(file, line), name, first, count=missing)
