"""Faults that keep something from one forward to the next; forwards on a cache of their own never meet them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from tests.meta.candidates.plain import Plain, Step


@dataclass
class Earlier:
    """The forward before, if it was of one request on the same stream of the same cache."""

    cache: torch.Tensor  # held, so that no other cache gets its memory
    off_s: int
    x: torch.Tensor
    end: int  # the position after its last row


class KeepsForward(Plain):
    """No fault by itself: remembers the last forward of one request."""

    earlier: Earlier | None = None

    def value_to_store(self, step: Step, activated: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        if not step.first_row.any() and bool(step.is_stored.all()):
            self.earlier = Earlier(step.cache, step.off_s, step.x.clone(), int(step.position[-1]) + 1)
        return super().value_to_store(step, activated, out)

    def follows(self, step: Step) -> Earlier | None:
        """The forward before this one in the life of the same request, or None."""
        earlier = self.earlier
        if earlier is None or earlier.off_s != step.off_s or step.first_row.any() or not step.is_stored.all():
            return None
        return earlier if earlier.cache.data_ptr() == step.cache.data_ptr() else None

    def tap(self, step: Step, age: int) -> torch.Tensor:
        tap, earlier = super().tap(step, age), self.follows(step)
        if earlier is None or not int(step.position[0]):
            return tap
        tap = tap.clone()
        for row in range(min(age, len(tap))):
            back = age - row  # positions before this forward's first
            if back <= int(step.position[0]):
                tap[row] = self.kept(step, earlier, back, tap[row])
        return tap

    def kept(self, step: Step, earlier: Earlier, back: int, cached: torch.Tensor) -> torch.Tensor:
        """What the tap that many positions before this forward is."""
        return cached


class DraftsKept(KeepsForward):
    """The window is the last rows of the forward before, rejected drafts included."""

    def kept(self, step: Step, earlier: Earlier, back: int, cached: torch.Tensor) -> torch.Tensor:
        return earlier.x[-back] if back <= len(earlier.x) else cached


class ShortChunkLosesWindow(KeepsForward):
    """The window is what the chunk before brought; a chunk shorter than it leaves the rest 0."""

    def kept(self, step: Step, earlier: Earlier, back: int, cached: torch.Tensor) -> torch.Tensor:
        is_next = earlier.end == int(step.position[0])
        return torch.zeros_like(cached) if is_next and back > len(earlier.x) else cached


class SkipsWhatIsStored(Plain):
    """A row whose slot holds its input already is taken for done."""

    def sum_taps(self, step: Step, weight: torch.Tensor) -> torch.Tensor:
        slot = step.slot.clamp(min=0)
        held = step.cache[slot // step.N, :, slot % step.N, step.off_s : step.off_s + step.ws].reshape(step.x.shape)
        is_done = (held == step.x).all(dim=1)
        return super().sum_taps(step, weight).masked_fill(is_done[:, None], 0)


class TableRemembered(Plain):
    """The first block that a request had in its first forward is remembered, though it may have been given another."""

    def __init__(self) -> None:
        self.tables: dict[tuple[int, int], torch.Tensor] = {}
        self.caches: list[torch.Tensor] = []  # held, so that no other cache gets their memory

    def tap(self, step: Step, age: int) -> torch.Tensor:
        if step.block_table.numel() and bool(step.is_stored.all()) and not bool(step.request.any()):
            self.caches.append(step.cache)
            key = (step.cache.data_ptr(), step.off_s)
            table = step.block_table.clone()
            table[0, 0] = self.tables.setdefault(key, table[0, 0].clone())
            step = replace(step, block_table=table)
        return super().tap(step, age)
