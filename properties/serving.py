"""Serving: sequences in one paged cache, step by step, as an engine runs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from properties import contents
from properties.cases import Geometry


@dataclass
class Sequence:
    """One request: its inputs `[L, C]`, how many are in the cache, and its physical blocks by logical number."""

    inputs: torch.Tensor
    cached: int = 0
    blocks: list[int] = field(default_factory=list)


class Server:
    """Owns a cache, hands out its blocks, and sends batches of rows through `fused_sconv`.

    Freed blocks keep their contents and are handed out again, newest first.
    """

    def __init__(
        self,
        ops: Any,
        geometry: Geometry,
        weight: torch.Tensor,
        num_blocks: int,
        activation: str | None = None,
        use_residual: bool = True,
    ) -> None:
        self.ops, self.geometry, self.weight = ops, geometry, weight.to(ops.device)
        self.activation, self.use_residual = activation, use_residual
        shape = (num_blocks, geometry.H, geometry.N, geometry.D)
        self.cache = contents.poison(int(np.prod(shape)), geometry.dtype).view(shape).to(ops.device)
        self.free = list(range(num_blocks))

    def reserve(self, sequence: Sequence, positions: int) -> None:
        """Gives a sequence blocks for that many positions. Raises IndexError when the cache is full."""
        while len(sequence.blocks) * self.geometry.N < positions:
            sequence.blocks.append(self.free.pop())

    def release(self, sequence: Sequence) -> None:
        """Takes a sequence's blocks back; whatever they hold stays in them."""
        self.free += sequence.blocks[::-1]
        sequence.blocks, sequence.cached = [], 0

    def step(self, work: list[tuple[Sequence, int]], pads: int = 0) -> list[torch.Tensor]:
        """Runs one forward: the next `count` rows of each sequence, then padding; returns each one's output."""
        N = self.geometry.N
        for sequence, count in work:
            self.reserve(sequence, sequence.cached + count)
        width = max([1, *(len(sequence.blocks) for sequence, _ in work)])
        table = np.full((max(1, len(work)), width), -1, np.int32)
        positions: list[int] = []
        owners: list[int] = []
        firsts: list[int] = []
        slots: list[int] = []
        rows: list[torch.Tensor] = []
        for index, (sequence, count) in enumerate(work):
            table[index, : len(sequence.blocks)] = sequence.blocks
            span = range(sequence.cached, sequence.cached + count)
            firsts += [len(positions)] * count
            positions += span
            owners += [index] * count
            slots += [sequence.blocks[p // N] * N + p % N for p in span]
            rows.append(sequence.inputs[span.start : span.stop])
        x = torch.cat([*rows, torch.ones(pads, self.geometry.C, dtype=self.weight.dtype)])
        out = self._run(x, positions, owners, firsts, slots, table, pads)
        parts = list(out.split([count for _, count in work] + [pads]))[: len(work)]
        for sequence, count in work:
            sequence.cached += count
        return parts

    def _run(
        self,
        x: torch.Tensor,
        positions: list[int],
        owners: list[int],
        firsts: list[int],
        slots: list[int],
        table: np.ndarray,
        pads: int,
    ) -> torch.Tensor:
        geometry = self.geometry

        def array(values: list[int], filler: int, dtype: torch.dtype) -> torch.Tensor:
            return torch.tensor(values + [filler] * pads, dtype=dtype, device=self.ops.device)

        out: torch.Tensor = self.ops.fused_sconv(
            x.to(self.ops.device),
            self.weight,
            self.cache,
            array(positions, 5, torch.int64),
            torch.from_numpy(table).to(self.ops.device),
            array(owners, 0, torch.int32),
            array(slots, -1, torch.int64),
            array(firsts, 0, torch.int32),
            geometry.off_s,
            geometry.ws,
            geometry.N,
            activation=self.activation,
            use_residual=self.use_residual,
        )
        return out.detach().cpu()
