"""Function bodies: one block, or several that jump forward."""

from __future__ import annotations

from .binding import Binding
from .program import Region
from .registry import Step


def body(region: Region, binding: Binding) -> list[Step]:
    """Binds a function body."""
    if len(region.blocks) == 1:
        return binding.block(region.entry)
    from .jumps import jumping

    return jumping(region, binding)
