"""Histories: the whole inputs of every sequence of a life, and what they make of its rows, without pages."""

from __future__ import annotations

import numpy as np
import torch

from properties import contents
from properties.books import Books, Span
from properties.lives import Life
from reference.dense import dense_conv

_WEIGHT, _ROWS, _PADDING = range(3)  # what a seed is for


class Histories:
    """Inputs `[positions, channels]` of every sequence, over all streams of all layers, and their dense truth."""

    def __init__(self, case: Life) -> None:
        self.case = case
        self.weight = contents.weights(
            case.contents, self._generator(_WEIGHT), case.channels, case.geometry.W, case.geometry.dtype
        )
        self.inputs: list[torch.Tensor] = []
        self.forwards = 0  # drafts that were rejected must differ from what comes in their place

    def follow(self, books: Books, parent: int | None = None) -> None:
        """Gives the sequence that came last its history: that of its parent so far, or none."""
        known = books.sequences[-1].known
        self.inputs.append(self._rows(0) if parent is None else self.inputs[parent][:known])

    def extend(self, books: Books, spans: list[Span]) -> torch.Tensor:
        """The inputs of a forward's rows, those without history made up first. The books are those after it."""
        self.forwards += 1
        rows = []
        for span in spans:
            history, stop = self.inputs[span.sequence], span.start + span.count
            if len(history) < stop:
                new = self._rows(stop - len(history), span.sequence)
                if books.sequences[span.sequence].is_poisoned:
                    new.fill_(float("nan"))
                history = self.inputs[span.sequence] = torch.cat([history, new])
            rows.append(history[span.start : stop])
        return torch.cat([self._rows(0), *rows])

    def forget_rejected(self, books: Books) -> None:
        """Shortens every history to what the books know of it."""
        self.inputs = [one[: entry.known] for one, entry in zip(self.inputs, books.sequences, strict=True)]

    def padding(self, count: int) -> torch.Tensor:
        """Inputs of rows that belong to nobody."""
        return self._rows(count, purpose=_PADDING)

    def truth(self, spans: list[Span], padding: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The float64 result `[T, channels]` of spans and padding, and the sum over taps of |w x| of each element."""
        activation, use_residual = self.case.activation, self.case.use_residual
        truths, magnitudes = [], []
        for span in spans:
            history = self.inputs[span.sequence][: span.start + span.count]
            truths.append(dense_conv(history, self.weight, activation, use_residual)[span.start :])
            magnitudes.append(dense_conv(history.abs(), self.weight.abs(), None, False)[span.start :])
        alone = padding.double()
        truths.append(alone if use_residual else torch.zeros_like(alone))
        magnitudes.append(torch.zeros_like(alone))
        return torch.cat(truths), torch.cat(magnitudes)

    def _rows(self, count: int, sequence: int = 0, purpose: int = _ROWS) -> torch.Tensor:
        generator = self._generator(purpose, self.forwards, sequence)
        return contents.inputs(self.case.contents, generator, count, self.case.channels, self.case.geometry.dtype)

    def _generator(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng((self.case.seed, *purpose))
