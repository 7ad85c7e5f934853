"""Labels: which call of an operator each element of a tensor came from, through whatever the host does with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from properties.memory import sparse

# A label is version * ELEMENTS + the element's place in its storage; 0 is what came from no call, and so a constant.
ELEMENTS = 2**36
CONSTANT, DERIVED = 0, -1  # DERIVED: computed from results, and so neither a constant nor an element of one
SPARSE = 2**28  # elements from which memory is taken for sparse

aten = torch.ops.aten
# what gives each element of its result, or of what it writes, an element of its arguments; by where the data are
_SAME = {aten.clone.default, aten._to_copy.default}
_PICKS = {aten.index.Tensor, aten.index_select.default}
_JOINS = {aten.cat.default, aten.stack.default}
_MASKS = {aten.masked_fill.Scalar, aten.masked_fill.Tensor}
_MASKS_IN_PLACE = {aten.masked_fill_.Scalar, aten.masked_fill_.Tensor}
_CLEARS = {aten.fill_.Scalar, aten.fill_.Tensor, aten.zero_.default}
_KEEPS_DIFFERENCE = {aten.abs.default}


@dataclass(eq=False)
class Comparison:
    """Two tensors of one shape that the host compared: their values and labels, and which elements it looked at.

    allowed: how far apart they may be, elementwise, where they were compared within a bound.
    """

    got: torch.Tensor
    wanted: torch.Tensor
    got_labels: torch.Tensor
    wanted_labels: torch.Tensor
    looked_at: torch.Tensor
    wrong: torch.Tensor
    allowed: torch.Tensor | None = None


class Labels(TorchDispatchMode):
    """Sees every operation of torch while it is entered, and carries labels along.

    `comparisons` are those of labelled elements in which something differed, in order; `differences` the pairs of a
    result and of what was subtracted from it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.comparisons: list[Comparison] = []
        self.differences: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._memory: dict[int, tuple[torch.Tensor, int]] = {}  # labels of a storage, and the bytes of its elements
        self._masks: dict[int, Comparison] = {}
        self._pending: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._alive: list[torch.Tensor] = []  # whose addresses are known here must not be handed out again
        self._is_paused = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # as in ttir.fresh: the import that torch would do costs seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Sees nothing inside."""
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The labels of a tensor, in its shape; a view of them where there are any."""
        memory, item = self._memory.get(_address(tensor), (None, 0))
        if memory is None or item != tensor.element_size():
            return torch.zeros(tensor.shape, dtype=torch.int64)
        return memory.as_strided(tensor.shape, tensor.stride(), memory.storage_offset() + tensor.storage_offset())

    def knows(self, tensor: Any) -> bool:
        """Whether a tensor's memory has labels."""
        return isinstance(tensor, torch.Tensor) and _address(tensor) in self._memory

    def give(self, tensor: torch.Tensor, labels: torch.Tensor | int) -> None:
        """Labels a tensor's elements."""
        if tensor.numel() == 0:
            return
        address = _address(tensor)
        if address not in self._memory:
            size = tensor.untyped_storage().nbytes() // tensor.element_size()
            host = torch.device("cpu")
            memory = sparse(size, torch.int64, host) if size >= SPARSE else torch.zeros(size, dtype=torch.int64)
            self._memory[address] = memory, tensor.element_size()
            self._alive.append(tensor)
        self.of(tensor).copy_(torch.as_tensor(labels).expand(tensor.shape))

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if not self._is_paused:
            with self.paused():
                self._follow(function, args, kwargs or {}, result)
        return result

    def _follow(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        if function in _SAME:
            self._give_if(result, args[0], lambda: self.of(args[0]))
        elif function is aten.copy_.default:
            self._give_if(args[0], args[:2], lambda: self.of(args[1]))
        elif function in _PICKS:
            self._give_if(result, args[0], lambda: function(self.of(args[0]), *_on_host(args[1:])))
        elif function in _JOINS:
            self._give_if(result, args[0], lambda: function([self.of(one) for one in args[0]], *args[1:], **kwargs))
        elif function is aten.index_put_.default:
            self._give_if(args[0], [args[0], args[2]], lambda: self._put(args))
        elif function in _MASKS:
            self._give_if(result, args[0], lambda: aten.masked_fill.Scalar(self.of(args[0]), args[1].cpu(), 0))
        elif function in _MASKS_IN_PLACE:
            self._give_if(args[0], args[0], lambda: aten.masked_fill.Scalar(self.of(args[0]), args[1].cpu(), 0))
        elif function in _CLEARS:
            self._give_if(args[0], args[0], lambda: torch.zeros((), dtype=torch.int64))
        elif function is aten.where.self:
            self._give_if(result, args[1:], lambda: torch.where(args[0].cpu(), self.of(args[1]), self.of(args[2])))
        else:
            self._compare(function, args, result)

    def _give_if(self, target: torch.Tensor, sources: Any, labels: Any) -> None:
        every = sources if isinstance(sources, (list, tuple)) else [sources]
        if any(self.knows(one) for one in every):
            self.give(target, labels())

    def _put(self, args: Any) -> torch.Tensor:
        labels = self.of(args[0]).clone()
        return aten.index_put_.default(labels, _on_host(args[1]), self.of(args[2]))

    def _compare(self, function: Any, args: Any, result: Any) -> None:
        """Notes a comparison, and what is done with its mask; all else computed from labelled elements is DERIVED."""
        if function in (aten.ne.Tensor, aten.eq.Tensor):
            wrong = result if function is aten.ne.Tensor else ~result
            self._note(result, self._comparison(args[0], args[1], wrong))
        elif function is aten.equal.default:
            if not result and args[0].shape == args[1].shape:
                self._note(None, self._comparison(args[0], args[1], args[0] != args[1]))
        elif function is aten.sub.Tensor and self.knows(args[0]):
            self._pending[_address(result)] = (args[0], args[1])
            self.differences.append((args[0], args[1]))
            self._alive.append(result)
        elif function in _KEEPS_DIFFERENCE and _address(args[0]) in self._pending:
            self._pending[_address(result)] = self._pending[_address(args[0])]
            self._alive.append(result)
        elif function is aten.le.Tensor and _address(args[0]) in self._pending:
            self._note(result, self._comparison(*self._pending[_address(args[0])], ~result, args[1]))
        elif function in (aten.bitwise_and.Tensor, aten.bitwise_and_.Tensor, aten.bitwise_not.default,
                          aten.bitwise_or.Tensor):  # fmt: skip  # what masks are joined by
            self._narrow(function, args, result)
        elif isinstance(result, torch.Tensor) and result.is_floating_point():
            written = function._schema.returns and function._schema.returns[0].alias_info
            if not (written and not written.is_write) and any(self.knows(one) for one in args):
                if any(bool(self.of(one).any()) for one in args if self.knows(one)):
                    self.give(result, DERIVED)

    def _comparison(
        self, got: Any, wanted: Any, wrong: torch.Tensor, allowed: torch.Tensor | None = None
    ) -> Comparison | None:
        if not (self.knows(got) or self.knows(wanted)) or got.shape != wanted.shape:
            return None
        labels = self.of(got).clone(), self.of(wanted).clone()
        everything = torch.ones(got.shape, dtype=torch.bool)
        values = got.detach().cpu().clone(), wanted.detach().cpu().clone()
        return Comparison(*values, *labels, everything, wrong.cpu(), None if allowed is None else allowed.cpu())

    def _note(self, mask: torch.Tensor | None, found: Comparison | None) -> None:
        if found is None or not found.got.numel() or not found.got_labels.ne(found.wanted_labels).any():
            return
        if mask is not None:
            self._masks[_address(mask)] = found
            self._alive.append(mask)
        if found.wrong.any():
            self.comparisons.append(found)

    def _narrow(self, function: Any, args: Any, result: torch.Tensor) -> None:
        """Follows a comparison's mask; `mask & other` looks at the elements of `other` alone."""
        known = [one for one in args if isinstance(one, torch.Tensor) and _address(one) in self._masks]
        if not known:
            return
        found = self._masks[_address(known[0])]
        if "and" in str(function) and len(known) == 1:
            other = args[1] if known[0] is args[0] else args[0]
            looked_at = found.looked_at & other.cpu()
            found = replace(found, looked_at=looked_at, wrong=found.wrong & looked_at)
        self._note(result, found)


def _address(tensor: Any) -> int:
    return tensor.untyped_storage().data_ptr() if isinstance(tensor, torch.Tensor) else -1


def _on_host(one: Any) -> Any:
    if isinstance(one, torch.Tensor):
        return one.cpu()
    return [_on_host(part) for part in one] if isinstance(one, (list, tuple)) else one


def parted(labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The version and the element of every label."""
    return torch.div(labels, ELEMENTS, rounding_mode="floor"), labels % ELEMENTS


def unravelled(offset: int, shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...] | None:
    """The index of the element that lies so far from the first one; None where that is no element."""
    order = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    index = [0] * len(shape)
    for axis in order:
        if shape[axis] > 1 and strides[axis]:
            index[axis] = offset // strides[axis]
            offset -= index[axis] * strides[axis]
        if not 0 <= index[axis] < shape[axis]:
            return None
    return tuple(index) if offset == 0 and all(shape) else None
