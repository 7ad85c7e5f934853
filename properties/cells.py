"""Cells: every element of some tensors and of the memory around them, under one running number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

MOST_AROUND = 2**22  # elements of an allocation; of a larger one, sparse mostly, only the tensor's own elements count


class Cells:
    """The elements of several tensors of floats, numbered through; their memory is filled in place."""

    def __init__(self, tensors: Mapping[str, torch.Tensor]) -> None:
        self.tensors = tensors
        self.memory = {name: around(tensor) for name, tensor in tensors.items()}
        self.first: dict[str, int] = {}
        self.count = 0
        for name, memory in self.memory.items():
            self.first[name] = self.count
            self.count += memory.numel()
        self.saved = {name: memory.clone() for name, memory in self.memory.items()}

    def fill(self, values: torch.Tensor) -> None:
        """Puts `values[number]`, float32, into every cell, rounded to its dtype."""
        for name, memory in self.memory.items():
            some = values[self.first[name] :][: memory.numel()]
            memory.copy_(some.view(memory.shape))

    def restore(self) -> None:
        """Puts back what the cells held at first."""
        for name, memory in self.memory.items():
            memory.copy_(self.saved[name])

    def numbers(self, name: str) -> torch.Tensor:
        """The number of every element of a tensor, in its shape."""
        tensor, memory = self.tensors[name], self.memory[name]
        numbers = torch.arange(memory.numel()) + self.first[name]
        if memory.shape == tensor.shape and memory.stride() == tensor.stride():
            return numbers.view(tensor.shape)
        return numbers.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def number(self, name: str, index: Sequence[int]) -> int:
        """The number of one element."""
        return int(self.numbers(name)[tuple(index)])

    def place(self, number: int) -> tuple[str, tuple[int, ...] | None]:
        """The tensor and the element that a number names; no element where it is memory around the tensor."""
        name = max((name for name, first in self.first.items() if first <= number), key=self.first.__getitem__)
        found = (self.numbers(name) == number).nonzero()
        return name, tuple(int(i) for i in found[0]) if len(found) else None

    def held(self, number: int) -> float:
        """What a cell holds now."""
        name = self.place(number)[0]
        memory = self.memory[name]
        return float(memory[_unravelled(number - self.first[name], memory.shape)])

    def gap(self, number: int) -> str:
        """Memory around a tensor, or between its elements, in words: behind which of its first axis it lies."""
        name = self.place(number)[0]
        tensor = self.tensors[name]
        parts = {"x": "row", "cache": "block"}
        at = number - self.first[name] - tensor.storage_offset()
        extent = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
        if at < 0 or not tensor.numel():
            return f"the memory before {name}"
        which = min(at // max(1, tensor.stride(0)), len(tensor) - 1)
        behind = f"the memory behind {name}, after" if at >= extent else "the gap behind"
        return f"{behind} {parts.get(name, 'element')} {which}"

    def address(self, number: int) -> int:
        """The address of a cell, in bytes."""
        name, index = self.place(number)
        memory = self.memory[name]
        if index is not None:
            return address(self.tensors[name], index)
        return memory.data_ptr() + (number - self.first[name]) * memory.element_size()


def single(cells: Cells, number: int) -> torch.Tensor:
    """Values of cells: 1 in one of them, if there is such a one, and 0 in the others."""
    values = torch.zeros(cells.count)
    values[number : number + 1] = 1
    return values


def _unravelled(number: int, shape: Sequence[int]) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        number, at = divmod(number, size)
        index.append(at)
    return tuple(reversed(index))


def address(tensor: torch.Tensor, index: Sequence[int]) -> int:
    """The address of an element, in bytes."""
    offset = sum(at * stride for at, stride in zip(index, tensor.stride(), strict=True))
    return int(tensor.data_ptr() + offset * tensor.element_size())


def around(tensor: torch.Tensor) -> torch.Tensor:
    """The whole allocation of a tensor, flat, or the tensor itself where that is gigantic."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    if count > MOST_AROUND or not tensor.numel():
        return tensor
    return tensor.as_strided((count,), (1,), 0)
