"""Memory that nobody wrote reads as NaN, not as the right results of an earlier call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def filled_memory() -> Iterator[None]:
    """Makes `torch.empty` and its kin hand out NaN (floats) or the largest value (integers) instead of old results."""
    was_strict = torch.are_deterministic_algorithms_enabled()
    was_warning = torch.is_deterministic_algorithms_warn_only_enabled()
    was_filling = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = was_filling  # type: ignore[attr-defined]
        torch.use_deterministic_algorithms(was_strict, warn_only=was_warning)
