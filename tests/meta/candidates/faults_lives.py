"""The plain candidate with something kept from call to call: right on every cache that is used once.

What is kept hangs on the tensor that it was kept for, so that another cache at the same address starts anew.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from tests.meta.candidates.plain import Plain, Step


class Keeps(Plain):
    """No fault by itself: something for each cache and stream, and for each block table."""

    def __init__(self) -> None:
        self.of_cache: Any = WeakTensorKeyDictionary()
        self.of_table: Any = WeakTensorKeyDictionary()

    def kept(self, step: Step) -> dict[Any, Any]:
        """What was kept for this cache and stream."""
        return self.of_cache.setdefault(step.cache, {}).setdefault(step.off_s, {})


class WindowByRow(Keeps):
    """The last inputs are kept by the request's row in the batch, and taken for the request that is there next.

    They are taken where it goes on at the position at which the last one ended.
    """

    def is_taken(self, start: int, ended: int) -> bool:
        """Whether a request that begins at `start` takes what one that ended there has left."""
        return start == ended

    def tap(self, step: Step, age: int) -> torch.Tensor:
        tap, kept = super().tap(step, age), self.kept(step)
        from_cache = self.has_taps(step) & ~self.comes_from_x(step, age) & self.exists(step, age)
        for row in from_cache.nonzero().flatten().tolist():
            start = int(step.position[row]) - row + int(step.first_row[row])
            ended, window = kept.get(int(step.request[row]), (None, {}))
            source = int(step.position[row]) - age - start
            if ended is not None and self.is_taken(start, ended) and source in window:
                tap[row] = window[source]
        return tap

    def finish(self, step: Step, out: torch.Tensor) -> torch.Tensor:
        kept = self.kept(step)
        for row in step.is_stored.nonzero().flatten().tolist():
            request = int(step.request[row])
            _, window = kept.get(request, (0, {})) if row > int(step.first_row[row]) else (0, {})
            window = {source - 1: values for source, values in window.items()} | {-1: step.x[row].clone()}
            kept[request] = (int(step.position[row]) + 1, window)
        return out


class DraftsKept(WindowByRow):
    """The window goes on from the last row that was computed, whether it was accepted or not."""

    def is_taken(self, start: int, ended: int) -> bool:
        return 0 < start < ended


class LateStores(Keeps):
    """From a stream's second batch of several requests on, rows are stored when the next forward begins."""

    def store(self, step: Step, values: torch.Tensor) -> None:
        kept = self.kept(step)
        is_batch = bool(step.is_stored.any()) and len(step.first_row[step.is_stored].unique()) > 1
        if late := kept.pop("late", None):
            super().store(*late)
        if is_batch and "staged" in kept:
            kept["late"] = (replace(step, slot=step.slot.clone(), x=step.x.clone()), values.clone())
        else:
            super().store(step, values)
        if is_batch:
            kept["staged"] = True

    def tap(self, step: Step, age: int) -> torch.Tensor:
        if late := self.kept(step).pop("late", None):
            super().store(*late)
        return super().tap(step, age)


class OldBlocks(Keeps):
    """Blocks are read from a mirror that sees this kernel's own stores, and not a block that the engine copied."""

    def read(self, step: Step, block: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
        mirror = self.of_cache.setdefault(step.cache, {}).setdefault("mirror", step.cache.clone())
        return super().read(replace(step, cache=mirror), block, offset)

    def write(self, step: Step, block: torch.Tensor, offset: torch.Tensor, values: torch.Tensor) -> None:
        mirror = self.of_cache.setdefault(step.cache, {}).setdefault("mirror", step.cache.clone())
        super().write(replace(step, cache=mirror), block, offset, values)
        super().write(step, block, offset, values)


class OldMetadata(Keeps):
    """First rows are kept for a block table and a number of rows, as if the batch were that of the last time."""

    def fused_sconv(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        if kwargs:
            batches = self.of_table.setdefault(kwargs["block_table"], {})
            first = batches.setdefault(kwargs["x"].shape[0], kwargs["query_start"].clone())
            kwargs["query_start"] = torch.minimum(first, torch.arange(len(first), dtype=first.dtype))
        return super().fused_sconv(*args, **kwargs)


class ShortChunkColumns(Plain):
    """In a chunk shorter than W-1, the window's columns are counted from its other end."""

    def exists(self, step: Step, age: int) -> torch.Tensor:
        return super().exists(self.shifted(step), age)

    def tap(self, step: Step, age: int) -> torch.Tensor:
        return super().tap(self.shifted(step) if age else step, age)

    def shifted(self, step: Step) -> Step:
        """The step with the cached positions of short chunks moved back."""
        T = len(step.row)
        first_row = step.first_row.clamp(min=0, max=max(0, T - 1))
        rows = torch.bincount(first_row[step.is_stored], minlength=T)[first_row]
        short = (step.W - 1 - rows).clamp(min=0) * step.is_stored
        return replace(step, position=torch.where(short < step.position, step.position - short, step.position))


class PadsReadTable(Plain):
    """Rows without a slot take taps through the block table, of whatever request their stale metadata names."""

    def has_taps(self, step: Step) -> torch.Tensor:
        return torch.ones_like(step.is_stored)

    def read(self, step: Step, block: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
        return super().read(step, block.clamp(min=0, max=len(step.cache) - 1), offset)


# Those that only a life finds.
ONLY_LIVES = {
    "window_by_row": WindowByRow,
    "late_stores": LateStores,
    "old_blocks": OldBlocks,
    "old_metadata": OldMetadata,
}


def operators(plain: Plain) -> SimpleNamespace:
    """A candidate's two operators."""
    return SimpleNamespace(fused_sconv=plain.fused_sconv, sconv_seq_metadata=plain.sconv_seq_metadata)
