"""Steps of the plain candidate that change what belongs to the whole process."""

from __future__ import annotations

import torch

from tests.meta.candidates.plain import Plain, Step


class DrawsRandomNumbers(Plain):
    """A dither that was switched off, though not the drawing for it."""

    def finish(self, step: Step, out: torch.Tensor) -> torch.Tensor:
        torch.rand(1)
        return super().finish(step, out)


class ChangesDefaultDtype(Plain):
    """The default dtype is set for a fresh tensor, and stays so."""

    def clear(self, buffer: torch.Tensor, begin: int, end: int) -> None:
        torch.set_default_dtype(torch.float16)
        super().clear(buffer, begin, end)
