"""Tensors as the machine sees them: which elements exist, and a flat view that reaches them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .elements import STORED

if TYPE_CHECKING:
    from .conflicts import Extent

# a boolean map of a strided tensor's elements up to this many positions; beyond it, division tells
MAP_LIMIT = 1 << 24


class _Window:
    """Lets NumPy see raw memory without touching or copying it."""

    def __init__(self, address: int, count: int, dtype: np.dtype) -> None:
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (count,),
            "typestr": dtype.str,
            "version": 3,
        }


@lru_cache(maxsize=1024)
def window(address: int, count: int, dtype: np.dtype) -> np.ndarray:
    """Returns a flat view of `count` items at `address`; it owns nothing, so it serves whoever lives there next."""
    if count == 0 or address == 0:
        return np.zeros(0, dtype)
    return np.asarray(_Window(address, count, dtype))


class Buffer:
    """One tensor argument: elements at non-negative offsets from its first one."""

    __slots__ = (
        "address",
        "dims",
        "end",
        "extent",
        "is_gapless",
        "is_read_only",
        "item",
        "limit",
        "log",
        "name",
        "shadow",
        "tensor",
        "views",
    )

    def __init__(self, name: str, tensor: Any) -> None:
        self.name = name
        self.tensor = tensor
        self.address: int = tensor.data_ptr()
        self.item: int = tensor.element_size()
        shape, strides = tuple(tensor.shape), tensor.stride()
        self.dims, self.extent, self.limit, self.is_gapless = _bounds(shape, strides)
        self.end = self.address + self.extent * self.item
        self.views: dict[str, np.ndarray] = {}
        self.log: Extent | None = None
        self.shadow: np.ndarray | None = None
        self.is_read_only = False

    def view(self, element: str) -> np.ndarray:
        """Returns the flat view of the tensor's extent for a pointee type."""
        found = self.views.get(element)
        if found is None:
            dtype = STORED[element]
            if dtype.itemsize != self.item:
                raise ValueError(f"{self.name} holds items of {self.item} bytes, not {element}")
            found = self.views[element] = window(self.address, self.extent, dtype)
        return found

    def contains(self, offset: np.ndarray) -> np.ndarray:
        """Says for each offset whether it is an element of the tensor."""
        inside = offset.view(np.uint64) < self.limit
        if self.is_gapless or not inside.any():
            return inside
        if self.extent <= MAP_LIMIT:
            return inside & element_map(self.dims, self.extent).take(offset, mode="clip")
        return inside & self._divide(offset)

    def _divide(self, offset: np.ndarray) -> np.ndarray:
        """Walks nested strides from the largest; strides that interleave are searched."""
        if not is_nested(self.dims):
            return _search(offset, self.dims)
        rest, result = offset, None
        for size, stride in self.dims:
            number = rest // stride
            rest = rest - number * stride
            fits = number < size
            result = fits if result is None else result & fits
        return result & (rest == 0) if result is not None else rest == 0

    def index(self, offset: int) -> tuple[int | str, ...]:
        """Returns the multi-dimensional index of an element offset, or ("element", offset)."""
        shape, strides = tuple(self.tensor.shape), self.tensor.stride()
        order = sorted((axis for axis in range(len(shape)) if strides[axis] > 0), key=lambda axis: -strides[axis])
        rest, index = int(offset), [0] * len(shape)
        for axis in order:
            index[axis], rest = divmod(rest, strides[axis])
        if rest == 0 and all(0 <= number < size for number, size in zip(index, shape, strict=True)):
            return tuple(index)
        return ("element", int(offset))


@lru_cache(maxsize=1024)
def _bounds(
    shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[tuple[tuple[int, int], ...], int, np.ndarray, bool]:
    """Returns the layout, the extent, the same as an array (a scalar is twice as slow to compare), if it is gapless."""
    dims, extent = layout(shape, strides)
    is_gapless = len(dims) == 0 or (len(dims) == 1 and dims[0][1] == 1)
    return dims, extent, np.array([extent], np.uint64), is_gapless


@lru_cache(maxsize=1024)
def layout(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[tuple[int, int], ...], int]:
    """Returns (size, stride) pairs, largest stride first, neighbours merged, and the extent in elements."""
    if 0 in shape:
        return (), 0
    kept = sorted(
        ((size, stride) for size, stride in zip(shape, strides, strict=True) if size > 1 and stride > 0),
        key=lambda pair: -pair[1],
    )
    merged: list[tuple[int, int]] = []
    for size, stride in kept:
        if merged and merged[-1][1] == size * stride:
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    return tuple(merged), 1 + sum((size - 1) * stride for size, stride in kept)


def is_nested(dims: tuple[tuple[int, int], ...]) -> bool:
    """Says whether every dimension fits between two steps of the next larger one."""
    return all(
        outer[1] > sum((size - 1) * stride for size, stride in dims[position + 1 :])
        for position, outer in enumerate(dims)
    )


@lru_cache(maxsize=64)
def element_map(dims: tuple[tuple[int, int], ...], extent: int) -> np.ndarray:
    """Returns one boolean per position of the extent: is it an element."""
    result = np.zeros(extent, bool)
    shape = [size for size, _ in dims]
    strides = [stride for _, stride in dims]
    np.lib.stride_tricks.as_strided(result, shape, strides)[...] = True
    return result


def _search(offset: np.ndarray, dims: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Tries every step of the largest dimension; only reached by huge tensors with interleaved strides."""
    if not dims:
        return offset == 0
    (size, stride), rest = dims[0], dims[1:]
    reach = sum((count - 1) * step for count, step in rest)
    result = np.zeros(offset.shape, bool)
    highest = offset // stride
    for back in range(reach // stride + 1):
        number = highest - back
        valid = (number >= 0) & (number < size)
        result |= valid & _search(offset - number * stride, rest)
    return result
