"""Paging: logical positions to physical blocks, as a cache manager hands them out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from properties.cases import Forward, shared_positions


@dataclass(frozen=True)
class Placement:
    """Where a forward's tokens live: per request a map from logical to physical block."""

    blocks: tuple[dict[int, int], ...]
    num_blocks: int
    width: int  # columns that the longest request needs
    N: int

    def slot(self, request: int, position: int) -> int:
        """The flat slot, `block * N + offset`, of a position whose block is placed."""
        block, offset = divmod(position, self.N)
        return self.blocks[request][block] * self.N + offset

    def slots(self, request: int, start: int, count: int) -> np.ndarray:
        """The slots `[count]` int64 of the positions from `start` on."""
        positions = np.arange(start, start + count)
        first = start // self.N
        named = needed_blocks(start, count, 1, self.N)
        blocks = np.array([self.blocks[request][block] for block in named], np.int64)
        return blocks[positions // self.N - first] * self.N + positions % self.N


def needed_blocks(start: int, length: int, W: int, N: int) -> range:
    """The logical blocks that a request's window and new rows touch; none for a request without rows."""
    if length == 0:
        return range(0)
    return range(max(0, start - (W - 1)) // N, (start + length - 1) // N + 1)


def place(case: Forward) -> Placement:
    """Gives every needed block a physical one; a fork shares its parent's whole blocks below both starts."""
    N, W = case.geometry.N, case.geometry.W
    tables: list[dict[int, int]] = []
    handed_out = 0
    for index, request in enumerate(case.requests):
        table: dict[int, int] = {}
        shared_blocks = shared_positions(case, index) // N
        parent = {} if request.fork is None else tables[request.fork]
        for block in needed_blocks(request.start, request.length, W, N):
            if block < shared_blocks and block in parent:
                table[block] = parent[block]
            else:
                table[block] = handed_out
                handed_out += 1
        tables.append(table)
    num_blocks = max(1, handed_out + case.layout.spare_blocks)
    order = np.arange(num_blocks)
    if case.block_seed:
        order = np.random.default_rng(case.block_seed).permutation(num_blocks)
    ends = [(r.start + r.length + N - 1) // N for r in case.requests if r.length]
    return Placement(
        blocks=tuple({block: int(order[rank]) for block, rank in table.items()} for table in tables),
        num_blocks=num_blocks,
        width=max([1, *ends]),
        N=N,
    )
