"""What is timed: the streams of real models, and the steps of a serving engine, as arguments on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

W = 4


@dataclass(frozen=True)
class Stream:
    """One of a layer's four streams on one rank: `heads` heads of `ws` channels, `off_s` into D channels a token."""

    name: str
    heads: int
    ws: int
    off_s: int
    D: int
    N: int = 8

    @property
    def channels(self) -> int:
        """C, the channels of a row."""
        return self.heads * self.ws


STREAMS = (
    Stream("global mlp", 8, 768, 1024, 2048),
    Stream("global K", 8, 128, 0, 2048),
    Stream("local mlp", 16, 384, 640, 1024),
    Stream("local K", 16, 128, 0, 1024),
    Stream("Small mlp", 8, 512, 768, 2048),
    Stream("global mlp, TP 8", 1, 768, 1024, 2048),
)


@dataclass(frozen=True)
class Step:
    """A forward: `lengths` new rows of each request after a context of some tokens."""

    name: str
    lengths: tuple[int, ...]

    @property
    def rows(self) -> int:
        """T, the rows of the forward."""
        return sum(self.lengths)


STEPS = (
    Step("prefill 1k", (1024,)),
    Step("prefill 2k", (2048,)),
    Step("prefill 8k", (2048,) * 4),
    Step("prefill 32k", (8192,) * 4),
    Step("decode 1", (1,)),
    Step("decode 16", (1,) * 16),
    Step("decode 64", (1,) * 64),
    Step("decode 256", (1,) * 256),
    Step("decode 512", (1,) * 512),
    Step("verify 64x4", (4,) * 64),
    Step("mixed 64+2k", (1,) * 64 + (2048,)),
)


def context(request: int) -> int:
    """Tokens before the step: of several blocks, and of any remainder by N."""
    return 40 + 3 * request % 61


def metadata(stream: Stream, step: Step, device: str, seed: int) -> dict[str, torch.Tensor]:
    """What says where rows and taps are: the same for every layer of a forward. Blocks are permuted."""
    generator = torch.Generator().manual_seed(seed)
    starts = [context(request) for request in range(len(step.lengths))]
    blocks = [-(-(start + length) // stream.N) for start, length in zip(starts, step.lengths, strict=True)]
    names = torch.randperm(sum(blocks), generator=generator).int()
    table = torch.zeros(len(blocks), max(blocks), dtype=torch.int32)
    for request, mine in enumerate(names.split(blocks)):
        table[request, : len(mine)] = mine
    lengths = torch.tensor(step.lengths)
    first_rows = lengths.cumsum(0) - lengths
    owner = torch.arange(len(lengths)).repeat_interleave(lengths)
    positions = torch.tensor(starts)[owner] + torch.arange(step.rows) - first_rows[owner]
    slots = table[owner, positions // stream.N].long() * stream.N + positions % stream.N
    tensors = {
        "positions": positions,
        "block_table": table,
        "seq_idx": owner.int(),
        "slot_mapping": slots,
        "query_start": first_rows[owner].int(),
    }
    return {name: tensor.to(device) for name, tensor in tensors.items()}


def layers(stream: Stream, step: Step, count: int, dtype: torch.dtype, device: str) -> list[dict[str, Any]]:
    """Arguments of `fused_sconv` for so many layers: weights, inputs and caches of their own, metadata shared.

    Values are random: zeros can run faster.
    """
    where = metadata(stream, step, device, seed=len(step.lengths))
    blocks = int(where["block_table"].max()) + 1
    generator = torch.Generator(device).manual_seed(step.rows)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, device=device).normal_(generator=generator)

    return [
        {
            "x": drawn(step.rows, stream.channels),
            "weight": drawn(stream.channels, W),
            "cache": drawn(blocks, stream.heads, stream.N, stream.D),
            **where,
            "off_s": stream.off_s,
            "ws": stream.ws,
            "block_size": stream.N,
        }
        for _ in range(count)
    ]


def least_bytes(stream: Stream, step: Step, itemsize: int) -> int:
    """What must move: x read, output and cache written, and the cached taps of each request's first rows read."""
    taps = sum(min(length, W - 1) * W // 2 if length >= W - 1 else length * (W - 1) for length in step.lengths)
    return (3 * step.rows + taps) * stream.channels * itemsize
