"""Faults that one group of properties sees and no other: results that stay within every bound, states, strides.

Whether taps are summed newest first instead of oldest first is below what values can show, and exact sums hide it.
Where it depends on something that must not matter, the bits tell in the group that varies just that.
"""

from __future__ import annotations

from typing import Any

import torch

from properties.contract import FUSED_SCONV
from tests.meta.candidates.plain import Plain, Step


class NewestFirst(Plain):
    """Sums the taps from the newest to the oldest where `is_turned` says so."""

    def is_turned(self, step: Step, weight: torch.Tensor) -> bool:
        raise NotImplementedError

    def sum_taps(self, step: Step, weight: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(step.x.shape, dtype=torch.float32, device=step.x.device)
        for k in range(step.W)[:: -1 if self.is_turned(step, weight) else 1]:
            total += self.tap(step, step.W - 1 - k).float() * self.tap_weight(weight, k)
        return total


def first_rows(step: Step) -> torch.Tensor:
    """The stored rows that are the first of their request."""
    return (step.is_stored & (step.row == step.first_row)).nonzero().flatten()


class TurnedByNeighbours(NewestFirst):
    """A batch of several requests takes another path."""

    def is_turned(self, step: Step, weight: torch.Tensor) -> bool:
        return bool(step.first_row[step.is_stored].any())


class TurnedByBlockNames(NewestFirst):
    """Requests whose blocks descend take another path."""

    def is_turned(self, step: Step, weight: torch.Tensor) -> bool:
        blocks = step.slot[first_rows(step)] // step.N
        return bool((blocks.diff() < 0).any())


class TurnedByBlockSize(NewestFirst):
    """Large blocks take another path."""

    def is_turned(self, step: Step, weight: torch.Tensor) -> bool:
        return step.N >= 32


class TurnedByTableStride(NewestFirst):
    """A table whose rows lie apart takes another path."""

    def is_turned(self, step: Step, weight: torch.Tensor) -> bool:
        return step.block_table.stride(0) > step.block_table.shape[1]


class TurnedBySharing(NewestFirst):
    """Requests whose windows end in one block take another path."""

    def is_turned(self, step: Step, weight: torch.Tensor) -> bool:
        rows = first_rows(step)
        rows = rows[step.position[rows] > 0]
        blocks = step.block_table[step.request[rows], (step.position[rows] - 1) // step.N]
        return len(blocks.unique()) < len(blocks)


class TurnedByHeads(NewestFirst):
    """Several heads take another path."""

    def is_turned(self, step: Step, weight: torch.Tensor) -> bool:
        return step.cache.shape[1] >= 2


class TurnedByPads(NewestFirst):
    """A batch with a row that is not stored takes another path."""

    def is_turned(self, step: Step, weight: torch.Tensor) -> bool:
        return not bool(step.is_stored.all())


class TurnedByWeightStrides(NewestFirst):
    """A weight that is a view takes another path."""

    def is_turned(self, step: Step, weight: torch.Tensor) -> bool:
        return not weight.is_contiguous()


class FirstRequestStored(Plain):
    """Rows of later requests are convolved and not stored."""

    def store(self, step: Step, values: torch.Tensor) -> None:
        for row in (step.is_stored & (step.first_row == 0)).nonzero().flatten():
            self.write(step, step.slot[row] // step.N, step.slot[row] % step.N, values[row])


class PagePaddingCleared(Plain):
    """The element behind each page that is stored to is set to 0."""

    def store(self, step: Step, values: torch.Tensor) -> None:
        super().store(step, values)
        page = step.cache[0].numel()
        if step.cache.stride(0) > page:
            behind = step.cache.storage_offset() + page
            padding = step.cache.as_strided((len(step.cache),), (step.cache.stride(0),), behind)
            padding[step.slot[step.is_stored] // step.N] = 0


class SlotsNormalised(Plain):
    """Every negative slot becomes -1, in the caller's tensor."""

    def finish(self, step: Step, out: torch.Tensor) -> torch.Tensor:
        step.slot.clamp_(min=-1)
        return out


class GapTimesZero(Plain):
    """The last lane of a block row, which may be nobody's, is loaded and multiplied by 0."""

    def add_residual(self, step: Step, activated: torch.Tensor) -> torch.Tensor:
        return super().add_residual(step, activated + self.nothing(step))

    def nothing(self, step: Step) -> torch.Tensor:
        """0 for every row, or NaN."""
        slot = step.slot.clamp(min=0)
        lane = step.cache[slot // step.N, 0, slot % step.N, -1].float() * 0
        is_outside = step.off_s + step.ws < step.cache.shape[3]
        return torch.where(step.is_stored & is_outside, lane, 0)[:, None]


class ChannelsTimesZero(Plain):
    """Every channel of a row gets 0 times all the others."""

    def add_residual(self, step: Step, activated: torch.Tensor) -> torch.Tensor:
        return super().add_residual(step, activated + 0 * step.x.float().sum(dim=1, keepdim=True))


class EveryEntryChecked(Plain):
    """A table with the largest number in it is refused, as a marker of what is not used, needed or not."""

    def table(self, block_table: torch.Tensor) -> torch.Tensor:
        if block_table.numel() and int(block_table.max()) == torch.iinfo(block_table.dtype).max:
            raise ValueError("block_table has an entry that is not used")
        return block_table


class CopiedCache(Plain):
    """A cache whose pages are not contiguous is copied, and the copy stored to."""

    def pages(self, cache: torch.Tensor) -> torch.Tensor:
        return cache if cache[0].is_contiguous() else cache.contiguous()


class ContiguousX(Plain):
    """The row stride of x is taken to be its width."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        return super().fused_sconv(x.as_strided(x.shape, (x.shape[1], 1)), *rest, **named)


class FarPagesWrap(Plain):
    """The offset of a block wraps where it no longer fits 31 bits."""

    def read(self, step: Step, block: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
        return super().read(step, self.wrapped(step, block), offset)

    def write(self, step: Step, block: torch.Tensor, offset: torch.Tensor, values: torch.Tensor) -> None:
        super().write(step, self.wrapped(step, block), offset, values)

    def wrapped(self, step: Step, block: torch.Tensor) -> torch.Tensor:
        """The block that is addressed instead."""
        return block % max(1, 2**31 // step.cache.stride(0))


class OffsetRemembered(Plain):
    """Where a stream lies is remembered by the shape of the call, which another stream may share."""

    def __init__(self) -> None:
        self.offsets: dict[tuple[int, ...], int] = {}

    def fused_sconv(self, *args: Any, **named: Any) -> torch.Tensor:
        given = {**dict(zip(FUSED_SCONV, args, strict=False)), **named}
        shape = (*given["cache"].shape[1:], given["ws"])
        return super().fused_sconv(**{**given, "off_s": self.offsets.setdefault(shape, given["off_s"])})
