"""Static buffers: what a serving engine captures its graphs on, and refills in place for every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from properties.replays import Replays
from properties.tensors import Batch, build

METADATA = ("positions", "seq_idx", "query_start", "slot_mapping")
MADE = ("seq_idx", "query_start")  # by the metadata operator


@dataclass
class Buffers:
    """Tensors of the largest bucket; smaller ones use their first rows.

    `x` and `weight` are listed by stream, the streams of the first layer first, and `caches` by layer.
    """

    x: list[torch.Tensor]
    weight: list[torch.Tensor]
    caches: list[torch.Tensor]
    block_table: torch.Tensor
    query_start_loc: torch.Tensor
    metadata: dict[str, torch.Tensor]
    loaded: tuple[str, ...]  # what of them the caller fills; the metadata operator makes the others

    @classmethod
    def of(cls, case: Replays, device: str) -> tuple[Buffers, list[list[list[Batch]]]]:
        """Buffers of a case, filled with its first forward, and every forward's batches by layer and stream."""
        batches = [
            [[build(part, device=device) for part in layer] for layer in case.streams(index)]
            for index in range(len(case.forwards))
        ]
        every = [batch for layer in batches[0] for batch in layer]
        blocks = max(layers[0][0].cache.shape[0] for layers in batches)
        width = max(layers[0][0].block_table.shape[1] for layers in batches)
        B, first = case.rows, every[0]

        def rows(tensor: torch.Tensor) -> torch.Tensor:
            return tensor.new_zeros(B, *tensor.shape[1:])

        buffers = cls(
            x=[rows(batch.x) for batch in every],
            weight=[batch.weight for batch in every],
            caches=[_roomy(layer[0].cache, blocks) for layer in batches[0]],
            block_table=first.block_table.new_zeros(case.requests, width),
            query_start_loc=first.query_start.new_zeros(case.requests + 1),
            metadata={name: rows(getattr(first, name)) for name in METADATA},
            loaded=tuple(name for name in METADATA if not (case.inside and name in MADE)),
        )
        buffers.metadata["slot_mapping"].fill_(-1)
        return buffers, batches

    def load(self, layers: list[list[Batch]], bucket: int) -> None:
        """Refills in place: a batch's own rows and table, slots of -1 behind them; the rest stays as it was."""
        first = layers[0][0]
        T = first.case.T
        for name in self.loaded:
            self.metadata[name][:T].copy_(getattr(first, name))
        self.metadata["slot_mapping"][T:].fill_(-1)
        for buffer, batch in zip(self.x, (batch for layer in layers for batch in layer), strict=True):
            buffer[:T].copy_(batch.x)
        table = first.block_table
        self.block_table[: len(table), : table.shape[1]].copy_(table)
        starts = [*first.case.first_rows, first.case.rows]
        self.query_start_loc.fill_(first.case.rows)
        self.query_start_loc[: len(starts)] = torch.tensor(starts, dtype=torch.int32)
        self.query_start_loc[-1] = bucket
        for cache, layer in zip(self.caches, layers, strict=True):
            near = cache[: len(layer[0].cache)]
            near.copy_(layer[0].cache)
            for batch in layer:
                geometry = batch.case.geometry
                span = slice(geometry.off_s, geometry.off_s + geometry.ws)
                near[..., span].copy_(batch.cache[..., span])

    def copy(self) -> Buffers:
        """The same contents in other memory; weights are shared, as nobody writes them."""
        return Buffers(
            [one.clone() for one in self.x],
            self.weight,
            [_roomy(one, len(one)).copy_(one) for one in self.caches],
            self.block_table.clone(),
            self.query_start_loc.clone(),
            {name: one.clone() for name, one in self.metadata.items()},
            self.loaded,
        )

    def stages(self, case: Replays, ops: Any, bucket: int) -> list[Callable[[], Any]]:
        """The operator calls of one step on the first `bucket` rows, in order."""
        calls: list[Callable[[], Any]] = []
        rows = {name: buffer[:bucket] for name, buffer in self.metadata.items()}
        if case.inside:
            arguments = (self.query_start_loc, case.requests, bucket, rows["seq_idx"], rows["query_start"])
            calls.append(partial(ops.sconv_seq_metadata, *arguments, num_padded_tokens=bucket))
        parts = [(layer, part) for layer, parts in enumerate(case.streams(0)) for part in parts]
        for number, (layer, part) in enumerate(parts):
            named = {
                "x": self.x[number][:bucket],
                "weight": self.weight[number],
                "cache": self.caches[layer],
                "block_table": self.block_table,
                **rows,
                "off_s": part.geometry.off_s,
                "ws": part.geometry.ws,
                "block_size": part.geometry.N,
                "activation": part.activation,
                "use_residual": part.use_residual,
            }
            calls.append(partial(ops.fused_sconv, **named))
        return calls


def _roomy(cache: torch.Tensor, blocks: int) -> torch.Tensor:
    """A cache of so many blocks with the strides of `cache`, its pages' padding included; all zeros."""
    memory = cache.new_zeros(blocks * cache.stride(0))
    return memory.as_strided((blocks, *cache.shape[1:]), cache.stride())
