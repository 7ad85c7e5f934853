"""Steps of the plain `fused_sconv` gone wrong, one a class."""

from __future__ import annotations

from dataclasses import replace

import torch

from tests.meta.candidates.plain import Plain, Step


class ReadsAnywhere(Plain):
    """No fault by itself: an address that a kernel would follow out of the cache is kept inside it."""

    def read(self, step: Step, block: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
        num_blocks, _, N, _ = step.cache.shape
        return super().read(step, block.clamp(min=0, max=num_blocks - 1), offset.clamp(max=N - 1))


class BlockSizeIsW(ReadsAnywhere):
    """Wrong pages are read and written."""

    def block_size(self, block_size: int, W: int) -> int:
        return W

    def tap(self, step: Step, age: int) -> torch.Tensor:
        last = step.block_table.shape[1] * step.N - 1 + age
        return super().tap(replace(step, position=step.position.clamp(max=last)), age)

    def write(self, step: Step, block: torch.Tensor, offset: torch.Tensor, values: torch.Tensor) -> None:
        num_blocks, _, N, _ = step.cache.shape
        super().write(step, block.clamp(max=num_blocks - 1), offset.clamp(max=N - 1), values)


class WindowLost(Plain):
    """The state between forwards is not read."""

    def read(self, step: Step, block: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(step.x)


class StoreInReadBlock(Plain):
    """A prefix's block, perhaps shared, is written."""

    def store(self, step: Step, values: torch.Tensor) -> None:
        T = len(step.row)
        first_row = step.first_row.clamp(min=0, max=T - 1)  # padding may name any row
        rows = torch.bincount(first_row[step.is_stored], minlength=T)[first_row]
        start = step.position - (step.row - first_row)
        is_short = step.is_stored & (rows < step.W - 1) & (start > 0)
        request = torch.where(is_short, step.request, 0)
        read_block = step.block_table[request, torch.where(is_short, start - 1, 0) // step.N].long()
        block = torch.where(is_short, read_block, step.slot // step.N)
        kept = step.is_stored
        self.write(step, block[kept], (step.slot % step.N)[kept], values[kept])


class PadsInSlotZero(Plain):
    """Padding is stored as if its slot were 0."""

    def store(self, step: Step, values: torch.Tensor) -> None:
        slot = step.slot.clamp(min=0)
        self.write(step, slot // step.N, slot % step.N, values)


class OnlyMinusOneIsPad(Plain):
    """Slot -2 is stored, to the cache's last block."""

    def store(self, step: Step, values: torch.Tensor) -> None:
        super().store(replace(step, is_stored=step.slot != -1), values)

    def write(self, step: Step, block: torch.Tensor, offset: torch.Tensor, values: torch.Tensor) -> None:
        super().write(step, block.clamp(min=-1), offset, values)


class PadOutputUnset(Plain):
    """NaN stands for what uninitialised memory holds."""

    def finish(self, step: Step, out: torch.Tensor) -> torch.Tensor:
        return torch.where(step.is_stored[:, None], out, torch.full_like(out, float("nan")))


class PadsHaveTaps(Plain):
    """Padding is convolved by its stale metadata."""

    def comes_from_x(self, step: Step, age: int) -> torch.Tensor:
        return step.row - age >= step.first_row


class PadIsNoTap(Plain):
    """A row that is not stored is lost to its successors in the same forward."""

    def sum_taps(self, step: Step, weight: torch.Tensor) -> torch.Tensor:
        return super().sum_taps(replace(step, x=self.mask(step.x, step.is_stored)), weight)


class MaskedByProduct(Plain):
    """A NaN read where nothing should be read stays a NaN."""

    def mask(self, values: torch.Tensor, is_kept: torch.Tensor) -> torch.Tensor:
        return values * is_kept[:, None].to(values.dtype)

    def tap(self, step: Step, age: int) -> torch.Tensor:
        tap = super().tap(step, age)
        if age == 0 or step.block_table.numel() == 0 or step.cache.numel() == 0:
            return tap
        # The address of a masked position is what the null entry of a table names: block 0.
        null = torch.zeros_like(step.row)
        is_from_x = self.comes_from_x(step, age)
        return torch.where(is_from_x[:, None], tap + self.mask(self.read(step, null, null), ~is_from_x), tap)


class TapsReversed(Plain):
    """Weights of a family that stores them newest-first."""

    def tap_weight(self, weight: torch.Tensor, k: int) -> torch.Tensor:
        return super().tap_weight(weight, weight.shape[1] - 1 - k)


class StoresActivated(Plain):
    """The next forward convolves what was convolved already."""

    def value_to_store(self, step: Step, activated: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return activated.to(step.x.dtype)


class StoresOutput(Plain):
    """The next forward convolves this one's result."""

    def value_to_store(self, step: Step, activated: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return out


class ContiguousPages(Plain):
    """Strides of the cache are computed from its shape."""

    def pages(self, cache: torch.Tensor) -> torch.Tensor:
        _, H, N, D = cache.shape
        return cache.as_strided(cache.shape, (H * N * D, N * D, D, 1))


class ContiguousTable(ReadsAnywhere):
    """The row stride of the table is computed from its shape."""

    def table(self, block_table: torch.Tensor) -> torch.Tensor:
        return block_table.as_strided(block_table.shape, (block_table.shape[1], 1))


class Truncates(Plain):
    """Results are cut towards zero."""

    def round(self, result: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        nearest = super().round(result, dtype)
        if dtype == torch.float32:
            return nearest
        is_too_large = nearest.float().abs() > result.abs()
        return (nearest.view(torch.int16) - is_too_large.to(torch.int16)).view(dtype)


def flushed(values: torch.Tensor) -> torch.Tensor:
    """The values, with zeros in place of subnormals."""
    return torch.where(values.abs() < torch.finfo(values.dtype).tiny, torch.zeros_like(values), values)


class FlushesSubnormals(Plain):
    """Results go through arithmetic that has no subnormals."""

    def round(self, result: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return flushed(super().round(result, dtype))


class Saturates(Plain):
    """The conversion clamps."""

    def round(self, result: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        largest = torch.finfo(dtype).max
        return super().round(result, dtype).clamp(-largest, largest)


class SumsInDtype(Plain):
    """No fp32 anywhere: in fp16 a partial sum overflows that fp32 holds."""

    def sum_taps(self, step: Step, weight: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(step.x)
        for k in range(step.W):
            total += self.tap(step, step.W - 1 - k) * self.tap_weight(weight, k).to(step.x.dtype)
        return total.float()


class LosesSignOfZero(Plain):
    """What is stored went through an addition of 0."""

    def value_to_store(self, step: Step, activated: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return step.x + 0


class StoresNoSubnormals(Plain):
    """What is stored went through arithmetic that has no subnormals."""

    def value_to_store(self, step: Step, activated: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return flushed(step.x)


class RoundsTwice(Plain):
    """The sum passes through the dtype of `x` on its way."""

    def add_residual(self, step: Step, activated: torch.Tensor) -> torch.Tensor:
        return super().add_residual(step, activated.to(step.x.dtype).float())


class ResidualDropped(Plain):
    """`use_residual` has no effect."""

    def add_residual(self, step: Step, activated: torch.Tensor) -> torch.Tensor:
        return activated


class ActivationDropped(Plain):
    """`activation` has no effect."""

    def activate(self, total: torch.Tensor, activation: str | None) -> torch.Tensor:
        return total


class OffsetIgnoredOnRead(Plain):
    """Another stream's channels are convolved."""

    def read(self, step: Step, block: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
        return super().read(replace(step, off_s=0), block, offset)


class OffsetIgnoredOnWrite(Plain):
    """Another stream's channels are overwritten."""

    def write(self, step: Step, block: torch.Tensor, offset: torch.Tensor, values: torch.Tensor) -> None:
        super().write(replace(step, off_s=0), block, offset, values)


class FirstRowFromCache(ReadsAnywhere):
    """The request's first row is looked for in the cache, where this very launch writes it."""

    def comes_from_x(self, step: Step, age: int) -> torch.Tensor:
        return super().comes_from_x(step, age) & ((age == 0) | (step.row - age > step.first_row))


class TapsBeforeStart(ReadsAnywhere):
    """The sequence is padded with its first input, not with zeros."""

    def exists(self, step: Step, age: int) -> torch.Tensor:
        return torch.ones_like(step.is_stored)


class ScaledWeights(Plain):
    """The error is below what a relative tolerance of 1e-2 sees."""

    def tap_weight(self, weight: torch.Tensor, k: int) -> torch.Tensor:
        return super().tap_weight(weight, k) * 1.001


class WritesX(Plain):
    """The caller's input is changed once it is no longer needed here."""

    def finish(self, step: Step, out: torch.Tensor) -> torch.Tensor:
        step.x.add_(1)
        return out


class ReturnsX(Plain):
    """The operator works in place."""

    def finish(self, step: Step, out: torch.Tensor) -> torch.Tensor:
        return step.x.copy_(out)
