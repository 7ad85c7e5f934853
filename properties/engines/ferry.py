"""A call's tensors taken to the device and back together: one copy there, one copy back, however many they are.

Several processes share a GPU by turns, and each copy, comparison or wait may cost a turn. So cases are laid out and
compared on the host, and the device sees one copy, the kernels and one copy back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

ALIGNMENT = 256  # bytes: a tensor's address keeps its remainder by every power of two up to this


class Ferry:
    """Host tensors of one call, packed into one allocation of a device."""

    def __init__(self, tensors: list[torch.Tensor], device: str, staging: Callable[[int], torch.Tensor]) -> None:
        """Copies whole storages, red zones included; `staging` gives host memory of so many bytes."""
        storages = {one.untyped_storage().data_ptr(): one.untyped_storage() for one in tensors}
        self.hosts = {at: torch.empty(0, dtype=torch.uint8).set_(storage) for at, storage in storages.items()}
        self.starts: dict[int, int] = {}
        size = 0
        for at, host in self.hosts.items():
            self.starts[at] = size
            size += -(-host.numel() // ALIGNMENT) * ALIGNMENT
        self.staged = staging(size)
        for at, host in self.hosts.items():
            self._staged(at).copy_(host)
        self.there = self.staged.to(device, non_blocking=True)

    def _staged(self, at: int) -> torch.Tensor:
        return self.staged[self.starts[at] : self.starts[at] + self.hosts[at].numel()]

    def view(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor's twin on the device, of the same shape, strides and place in its storage."""
        start = self.starts[tensor.untyped_storage().data_ptr()]
        return self.there.view(tensor.dtype).as_strided(
            tensor.shape, tensor.stride(), start // tensor.itemsize + tensor.storage_offset()
        )

    def back(self) -> None:
        """Waits for the device and gives the host tensors what their twins hold."""
        self.staged.copy_(self.there)
        for at, host in self.hosts.items():
            host.copy_(self._staged(at))

    def home(self, tensor: torch.Tensor) -> int | None:
        """The address of the host storage whose twin holds `tensor`, or None."""
        if tensor.untyped_storage().data_ptr() != self.there.untyped_storage().data_ptr():
            return None
        place = tensor.data_ptr() - self.there.data_ptr()
        return max((start, at) for at, start in self.starts.items() if start <= place)[1]


def travels(value: Any) -> bool:
    """Whether an argument is a host tensor with memory of its own to copy."""
    return isinstance(value, torch.Tensor) and value.device.type == "cpu" and value.untyped_storage().nbytes() > 0
