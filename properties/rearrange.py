"""The same tokens in another batch: requests alone, in another order, with private blocks, sharded by heads."""

from __future__ import annotations

from typing import Any

import torch

from properties.tensors import Batch


def regrouped(batch: Batch, order: list[int]) -> tuple[dict[str, Any], torch.Tensor]:
    """The arguments of a forward with only the requests of `order`, in that order, on a cache of its own.

    Also the rows of the original forward that its rows are.
    """
    case, given = batch.case, batch.arguments
    first_rows = case.first_rows
    rows: list[int] = []
    owners: list[int] = []
    firsts: list[int] = []
    for place, index in enumerate(order):
        length = case.requests[index].length
        firsts += [len(rows)] * length
        rows += range(first_rows[index], first_rows[index] + length)
        owners += [place] * length
    device = batch.device
    picked = torch.tensor(rows, dtype=torch.int64, device=device)
    table = batch.block_table[torch.tensor(order, dtype=torch.int64, device=device)] if order else batch.block_table
    arguments = {
        **given,
        "x": batch.x[picked],
        "positions": batch.positions[picked],
        "slot_mapping": batch.slot_mapping[picked],
        "block_table": table.clone(),
        "seq_idx": torch.tensor(owners, dtype=torch.int32, device=device),
        "query_start": torch.tensor(firsts, dtype=torch.int32, device=device),
        "cache": batch.cache.clone(),
    }
    return arguments, picked.cpu()


def with_private_blocks(batch: Batch) -> dict[str, Any]:
    """The arguments of the same forward where every request reads blocks of its own, copies of what it shared."""
    seen: set[int] = set()
    table = batch.block_table.clone()
    copies: list[int] = []
    for index, blocks in enumerate(batch.placement.blocks):
        for logical, physical in blocks.items():
            if physical in seen:
                table[index, logical] = len(batch.cache) + len(copies)
                copies.append(physical)
            seen.add(physical)
    cache = torch.cat([batch.cache, batch.cache[copies]]) if copies else batch.cache.clone()
    return {**batch.arguments, "block_table": table, "cache": cache}


def shards(batch: Batch, count: int) -> list[dict[str, Any]]:
    """The arguments of `count` forwards with an equal part of the heads each, as tensor parallelism splits them."""
    geometry = batch.case.geometry
    heads = geometry.H // count
    parts = []
    for shard in range(count):
        head = slice(shard * heads, (shard + 1) * heads)
        channel = slice(head.start * geometry.ws, head.stop * geometry.ws)
        parts.append(
            {
                **batch.arguments,
                "x": batch.x[:, channel].contiguous(),
                "weight": batch.weight[channel],  # a view as the whole is, so that nothing but the heads differs
                "cache": batch.cache[:, head].clone(memory_format=torch.contiguous_format),
            }
        )
    return parts
