"""Memory: tensors between red zones, in whatever strides, on either device; sparse where they are gigantic."""

from __future__ import annotations

import mmap
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from properties import contents, turns

RED_ZONE = 64  # elements before and after every tensor; keeps its start aligned to 16 bytes
_CANARY = 0x5A  # the byte that red zones are filled with


@dataclass
class Guarded:
    """A tensor inside a larger allocation whose other bytes must never change."""

    name: str
    view: torch.Tensor
    memory: torch.Tensor  # the whole allocation, flat; the view itself where that is sparse
    before: torch.Tensor  # its contents when the case was built

    def where(self, index: Sequence[int]) -> int:
        """The place in `memory` of an element of `view`."""
        steps = contiguous(tuple(self.view.shape)) if self.memory is self.view else self.view.stride()
        first = 0 if self.memory is self.view else self.view.storage_offset()
        return int(first + sum(at * step for at, step in zip(index, steps, strict=True)))

    def settle(self) -> None:
        """Takes what it holds now for what it held before."""
        self.before.copy_(self.memory)

    @property
    def changed(self) -> torch.Tensor:
        """Indices into `memory` of elements whose bits differ from `before`."""
        return (contents.bits(self.memory) != contents.bits(self.before)).nonzero().flatten()


# Elements before sparse memory: an offset that wraps in 32 bits lands in them, and ends no process and no CUDA context.
WRAPPED = 2**31
PATIENCE = 120.0  # seconds that a case waits for gigabytes that a failed case of another worker still holds


def sparse(extent: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A flat allocation of `extent` elements that costs the pages touched; on a GPU it is real, and unfilled."""
    size = WRAPPED + extent
    if device.type != "cpu":
        turns.take(device)
        deadline = time.monotonic() + PATIENCE
        while torch.cuda.mem_get_info(device)[0] < size * dtype.itemsize + 2**30 and time.monotonic() < deadline:
            time.sleep(0.05)
        return torch.empty(size, dtype=dtype, device=device)[WRAPPED:]
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE, unnamed before Python 3.13
    return torch.frombuffer(mmap.mmap(-1, size * dtype.itemsize, flags=flags), dtype=dtype)[WRAPPED:]


def guard(name: str, extent: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A flat allocation of `extent` elements between two red zones, all canary."""
    size = extent + 2 * RED_ZONE
    memory = torch.full((size * dtype.itemsize,), _CANARY, dtype=torch.uint8, device=device)
    return memory.view(dtype)


def owned(name: str, values: torch.Tensor, strides: tuple[int, ...], shift: int = 0) -> Guarded:
    """Lays `values` out with `strides` between red zones; gaps between elements hold canary.

    shift: elements that the first red zone is longer, and the second shorter, so that the tensor is not aligned.
    """
    shape = tuple(values.shape)
    extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) if values.numel() else 0
    memory = guard(name, extent, values.dtype, values.device)
    view = memory.as_strided(shape, strides, RED_ZONE + shift)
    view.copy_(values)
    return Guarded(name, view, memory, memory.clone())


def far(name: str, values: torch.Tensor, strides: tuple[int, ...], device: torch.device) -> Guarded:
    """Lays `values` out with gigantic `strides` in sparse memory; only the elements themselves are compared."""
    extent = 1 + sum((size - 1) * stride for size, stride in zip(values.shape, strides, strict=True))
    view = sparse(extent, values.dtype, device).as_strided(tuple(values.shape), strides, WRAPPED)
    view.copy_(values)
    return Guarded(name, view, view, view.clone())


def moved(one: Guarded, device: torch.device) -> Guarded:
    """The same tensor between its red zones, on another device."""
    if device.type == "cpu":
        return one
    memory = one.memory.to(device)
    view = memory.as_strided(one.view.shape, one.view.stride(), one.view.storage_offset())
    return Guarded(one.name, view, memory, memory.clone())


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a tensor without gaps."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return tuple(reversed(strides))
