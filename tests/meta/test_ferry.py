"""A call's tensors packed, carried and brought back, with host memory in the device's place."""

from __future__ import annotations

import torch

from properties.engines.ferry import Ferry, travels
from properties.memory import owned


def carried(*tensors: torch.Tensor) -> Ferry:
    """A ferry to other memory of the host."""
    ferry = Ferry(list(tensors), "cpu", lambda size: torch.empty(size, dtype=torch.uint8))
    ferry.there = ferry.staged.clone()  # a copy, as on a device
    return ferry


def test_twins_hold_the_same_and_bring_back_what_is_written():
    """Keeps strides, places and shared storages; writes beside the tensor come home as well."""
    first = owned("first", torch.arange(6.0).reshape(2, 3), (5, 1), shift=1)
    second = owned("second", torch.arange(4), (1,))
    ferry = carried(first.view, second.view, first.view[1])
    twin, row = ferry.view(first.view), ferry.view(first.view[1])
    assert torch.equal(twin, first.view)
    assert twin.stride() == first.view.stride()
    assert twin.data_ptr() % 16 == first.view.data_ptr() % 16
    row[0] = 8.0
    twin.as_strided((1,), (1,), twin.storage_offset() + 13)[0] = 9.0  # behind the last element
    assert not len(first.changed)
    ferry.back()
    assert first.view.tolist() == [[0, 1, 2], [8, 4, 5]]
    assert len(first.changed) == 2
    assert not len(second.changed)


def test_a_result_in_an_arguments_memory_is_known():
    """Gives the argument's own address for its twin, and none for other memory."""
    first, second = owned("first", torch.ones(3), (1,)), owned("second", torch.ones(2), (1,))
    ferry = carried(first.view, second.view)
    assert ferry.home(ferry.view(second.view)) == second.memory.untyped_storage().data_ptr()
    assert ferry.home(torch.ones(1)) is None
    assert not travels(torch.empty(0))
