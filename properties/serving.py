"""Serving: sequences in one paged cache, forward after forward through the same buffers, as an engine runs them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from properties import contents
from properties.books import Span
from properties.calls import Call
from properties.cases import Geometry
from properties.contract import DTYPES
from properties.memory import RED_ZONE, Guarded, contiguous, guard, moved, owned
from properties.pool import Pages, Pool

METADATA = ("positions", "seq_idx", "slot_mapping", "query_start")
NO_SLOT = (-1, -2, -(2**40))  # what padding has in place of a slot, in turn
LOST = (-1, 0, 2**30, -(2**31))  # what a table holds for blocks that nobody needs, in turn


class Sequence(Pages):
    """One request: its inputs `[L, C]`, how many are in the cache, and its physical blocks by logical number."""

    def __init__(self, inputs: torch.Tensor) -> None:
        super().__init__()
        self.inputs = inputs


@dataclass(frozen=True)
class Room:
    """How large the buffers are: rows of a forward, requests of a batch, columns of the block table."""

    rows: int
    requests: int
    columns: int


@dataclass(frozen=True)
class Part:
    """One stream of one layer, and its channels among those of all."""

    layer: int
    geometry: Geometry
    channels: slice


@dataclass(frozen=True)
class Filled:
    """One forward as the buffers were filled for it, and what the whole memory of the cache held before it."""

    spans: list[Span]
    x: torch.Tensor
    has_slots: bool
    cache: torch.Tensor


class Server:
    """Owns a cache and the buffers of a forward, refills them in place and sends them through the operators.

    weight: `[channels, W]`, those of all streams of all layers one after another. Layers lie side by side in each
    block of the cache, `[num_blocks, layers, H, N, D]`; it begins as NaN. Buffers keep what an earlier forward left
    in them beyond what the next one needs. `has_own_metadata` has the candidate fill owners and first rows.
    """

    def __init__(
        self,
        ops: Any,
        geometry: Geometry,
        weight: torch.Tensor,
        num_blocks: int,
        activation: str | None = None,
        use_residual: bool = True,
        *,
        streams: tuple[Geometry, ...] = (),
        layers: int = 1,
        room: Room | None = None,
        has_own_metadata: bool = False,
    ) -> None:
        self.ops, self.activation, self.use_residual = ops, activation, use_residual
        self.has_own_metadata = has_own_metadata
        self.log: list[Filled] = []  # every forward so far
        self.pool = Pool(num_blocks, geometry.N)
        self.room = room or Room(num_blocks * geometry.N, 4, num_blocks)
        self.parts = list(_parts(streams or (geometry,), layers))
        D = max(part.geometry.D for part in self.parts)
        self.device = torch.device(ops.device)
        self.guarded = {"cache": self._cache((num_blocks, layers, geometry.H, geometry.N, D), geometry.dtype)}
        self.caches = [self.guarded["cache"].view[:, layer] for layer in range(layers)]
        for index, part in enumerate(self.parts):
            self._own(f"weight {index}", weight[part.channels])
            self._own(f"x {index}", torch.zeros(self.room.rows, part.geometry.C, dtype=weight.dtype))
        for name, dtype in (("positions", torch.int64), ("slot_mapping", torch.int64), ("seq_idx", torch.int32),
                            ("query_start", torch.int32)):  # fmt: skip  # four buffers of one length
            self._own(name, torch.zeros(self.room.rows, dtype=dtype))
        self._own("query_start_loc", torch.zeros(self.room.requests + 1, dtype=torch.int32))
        table = np.resize(np.array(LOST, np.int32), (self.room.requests, self.room.columns))
        self._own("block_table", torch.from_numpy(table))

    @property
    def cache(self) -> torch.Tensor:
        """The cache of the first layer, `[num_blocks, H, N, D]`."""
        return self.caches[0]

    @property
    def free(self) -> list[int]:
        """The blocks that nobody holds; the one to be handed out next stands last."""
        return self.pool.free

    def release(self, sequence: Sequence) -> None:
        """Takes a sequence's blocks back; whatever they hold stays in them."""
        self.pool.release(sequence)

    def step(self, work: list[tuple[Sequence, int]], pads: int = 0) -> list[torch.Tensor]:
        """Runs one forward: the next `count` rows of each sequence, then padding; returns each one's output.

        Raises IndexError when the cache is full.
        """
        spans = []
        for number, (sequence, count) in enumerate(work):
            self.pool.reserve(sequence, sequence.cached + count)
            spans.append(Span(number, sequence.cached, count, tuple(sequence.blocks)))
        rows = [sequence.inputs[sequence.cached : sequence.cached + count] for sequence, count in work]
        x = torch.cat([*rows, torch.ones(pads, rows[0].shape[1], dtype=rows[0].dtype)])
        self.fill(spans, x)
        out = torch.cat([one.detach().cpu() for one in self.launch(len(x))], dim=1)
        for sequence, count in work:
            sequence.cached += count
        return list(out.split([count for _, count in work] + [pads]))[: len(work)]

    def fill(self, spans: list[Span], x: torch.Tensor, *, has_slots: bool = True) -> None:
        """Refills the buffers for a forward over the spans' rows and padding, `len(x)` in all; `x` is `[T, channels]`.

        Of positions and block table only what the spans need is written: the rest stays stale.
        """
        self.log.append(Filled(spans, x, has_slots, self.guarded["cache"].memory.clone()))
        counts = [span.count for span in spans]
        T = len(x)
        slots = np.array([NO_SLOT[row % len(NO_SLOT)] for row in range(T)], np.int64)
        positions = [np.arange(span.start, span.start + span.count) for span in spans]
        for index, (span, row) in enumerate(zip(spans, np.cumsum([0, *counts]), strict=False)):
            blocks = [LOST[at % len(LOST)] if block is None else block for at, block in enumerate(span.blocks)]
            self._put("block_table", np.array(blocks, np.int32), index)
            if has_slots:
                block, offset = np.divmod(positions[index], self.pool.N)
                slots[row : row + span.count] = np.array(blocks, np.int64)[block] * self.pool.N + offset
        self._put("positions", np.concatenate([np.zeros(0, np.int64), *positions]))
        self._put("slot_mapping", slots)
        self._put("query_start_loc", np.cumsum([0, *counts], dtype=np.int32))
        for index, part in enumerate(self.parts):
            self.guarded[f"x {index}"].view[:T] = x[:, part.channels].to(self.device)
        for guarded in self.guarded.values():
            guarded.before.copy_(guarded.memory)
        self._fill_owners(counts, T)

    def launch(self, T: int) -> list[torch.Tensor]:
        """Runs every stream of every layer on the first `T` rows of the buffers; returns an output for each.

        The buffers alone say what is computed, and they stay where they are: one launch may be a captured graph's.
        """
        return [self.ops.fused_sconv(**self.arguments(index, T)) for index in range(len(self.parts))]

    def arguments(self, index: int, T: int) -> dict[str, Any]:
        """What stream `index` of all layers is called with for the first `T` rows."""
        part = self.parts[index]
        return {
            "x": self.guarded[f"x {index}"].view[:T],
            "weight": self.guarded[f"weight {index}"].view,
            "cache": self.caches[part.layer],
            "block_table": self.guarded["block_table"].view,
            **{name: self.guarded[name].view[:T] for name in METADATA},
            "off_s": part.geometry.off_s,
            "ws": part.geometry.ws,
            "block_size": self.pool.N,
            "activation": self.activation,
            "use_residual": self.use_residual,
        }

    def call(self, index: int, T: int) -> Call:
        """The call of stream `index`, to be made again."""
        shared = ("cache", "block_table", *METADATA)
        own = {"x": self.guarded[f"x {index}"], "weight": self.guarded[f"weight {index}"]}
        return Call(self.arguments(index, T), {**own, **{name: self.guarded[name] for name in shared}})

    def twin(self, index: int) -> Server:
        """A server in other memory, filled for forward `index` of the log, with the cache as it was before that."""
        filled, other = self.log[index], copy(self)
        other.guarded, other.log, other.has_own_metadata = {}, [], False
        for name, one in self.guarded.items():
            memory = one.memory.clone()
            view = memory.as_strided(one.view.shape, one.view.stride(), one.view.storage_offset())
            other.guarded[name] = Guarded(name, view, memory, memory.clone())
        cache = other.guarded["cache"]
        cache.memory.copy_(filled.cache)
        other.caches = [cache.view[:, layer] for layer in range(len(self.caches))]
        other.fill(filled.spans, filled.x, has_slots=filled.has_slots)
        for guarded in other.guarded.values():
            guarded.settle()
        return other

    def expect_stores(self, T: int) -> None:
        """Enters what the first `T` rows must have stored into what the cache is expected to be."""
        cache = self.guarded["cache"]
        expected = cache.before.as_strided(cache.view.shape, cache.view.stride(), cache.view.storage_offset())
        slots = self.guarded["slot_mapping"].view[:T]
        stored = slots >= 0
        block, offset = slots[stored] // self.pool.N, slots[stored] % self.pool.N
        for index, part in enumerate(self.parts):
            geometry = part.geometry
            x = self.guarded[f"x {index}"].view[:T][stored].view(-1, geometry.H, geometry.ws)
            expected[block, part.layer, :, offset, geometry.off_s : geometry.off_s + geometry.ws] = x

    def copy_block(self, source: int, destination: int) -> None:
        """Copies a block with all its layers and streams, as an engine does before a shared one is written."""
        view = self.guarded["cache"].view
        view[destination] = view[source]

    def _fill_owners(self, counts: list[int], T: int) -> None:
        starts = np.cumsum([0, *counts])[:-1]
        for name, values in (("seq_idx", np.arange(len(counts))), ("query_start", starts)):
            truth = np.zeros(T, np.int32)  # padding belongs to request 0
            truth[: sum(counts)] = np.repeat(values, counts)
            guarded = self.guarded[name]
            guarded.before[RED_ZONE : RED_ZONE + T] = torch.from_numpy(truth).to(self.device)
            if not self.has_own_metadata:
                guarded.view[:T] = guarded.before[RED_ZONE : RED_ZONE + T]
        if self.has_own_metadata:
            loc, seq_idx, query_start = (self.guarded[n].view for n in ("query_start_loc", "seq_idx", "query_start"))
            self.ops.sconv_seq_metadata(loc, len(counts), sum(counts), seq_idx, query_start, T)

    def _put(self, name: str, values: np.ndarray, *index: int) -> None:
        self.guarded[name].view[index][: len(values)] = torch.from_numpy(values).to(self.device)

    def _own(self, name: str, values: torch.Tensor) -> None:
        self.guarded[name] = moved(owned(name, values, contiguous(tuple(values.shape))), self.device)

    def _cache(self, shape: tuple[int, ...], dtype: str) -> Guarded:
        extent = int(np.prod(shape))
        memory = guard("cache", extent, DTYPES[dtype], torch.device("cpu"))
        memory[RED_ZONE : RED_ZONE + extent] = contents.poison(extent, dtype)
        view = memory.as_strided(shape, contiguous(shape), RED_ZONE)
        return moved(Guarded("cache", view, memory, memory.clone()), self.device)


def _parts(streams: tuple[Geometry, ...], layers: int) -> Iterator[Part]:
    begin = 0
    for layer in range(layers):
        for geometry in streams:
            yield Part(layer, geometry, slice(begin, begin + geometry.C))
            begin += geometry.C
