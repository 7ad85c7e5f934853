"""Which offsets are elements of a tensor, and what an offset's index is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from properties.ttir import memory
from properties.ttir.memory import Buffer


@st.composite
def views(draw):
    """Draws views with gaps, permuted, expanded and overlapping dimensions."""
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    strides = [draw(st.integers(0, 9)) for _ in shape]
    extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True) if size)
    return torch.zeros(max(extent, 1)).as_strided(shape, strides)


@pytest.mark.parametrize("limit", [memory.MAP_LIMIT, 0])
@given(view=views())
def test_contains(limit, view):
    """The map and the divisions agree with listing every element."""
    elements = set()
    for index in np.ndindex(*view.shape):
        elements.add(sum(place * stride for place, stride in zip(index, view.stride(), strict=True)))
    offsets = np.arange(-3, 60)
    saved = memory.MAP_LIMIT
    memory.MAP_LIMIT = limit
    try:
        found = Buffer("x", view).contains(offsets)
    finally:
        memory.MAP_LIMIT = saved
    assert found.tolist() == [offset in elements for offset in offsets.tolist()]


@given(view=views())
def test_index(view):
    """An index leads back to its offset; an offset that no index reaches is told as an element."""
    buffer = Buffer("x", view)
    for offset in range(-2, 40):
        index = buffer.index(offset)
        if index[:1] == ("element",):
            assert index == ("element", offset)
        else:
            assert sum(place * stride for place, stride in zip(index, view.stride(), strict=True)) == offset
            assert all(place < size for place, size in zip(index, view.shape, strict=True))


def test_window_shares_memory():
    """The flat view reaches the tensor's own memory, from its first element on."""
    tensor = torch.zeros(10)[2:7]
    Buffer("x", tensor).view("f32")[1] = 5.0
    assert tensor.tolist() == [0, 5, 0, 0, 0]


def test_wrong_pointee():
    """A pointee of another size is refused by name."""
    with pytest.raises(ValueError, match="x holds items of 4 bytes, not f64"):
        Buffer("x", torch.zeros(3)).view("f64")
