"""A candidate in plain torch that fulfils the contract.

Every step is a method of its own, so that a fault (`faults.py`) replaces one step and nothing else. Masked
positions are read from an address that exists and then replaced by zero, as a masked load does. Storing
selects rows by a boolean mask, which synchronises with a GPU: it runs on one, but not inside a CUDA graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Step:
    """One forward: the operator's arguments, and what each row is."""

    x: torch.Tensor  # [T, C]
    cache: torch.Tensor  # [num_blocks, H, N, D]
    block_table: torch.Tensor  # [R, width]
    position: torch.Tensor  # [T]
    request: torch.Tensor  # [T]
    slot: torch.Tensor  # [T]
    first_row: torch.Tensor  # [T]
    row: torch.Tensor  # [T], 0 .. T-1
    is_stored: torch.Tensor  # [T]
    N: int
    W: int
    off_s: int
    ws: int


class Plain:
    """The two operators, as a chain of replaceable steps."""

    def fused_sconv(
        self,
        x: torch.Tensor,
        weight: torch.Tensor,
        cache: torch.Tensor,
        positions: torch.Tensor,
        block_table: torch.Tensor,
        seq_idx: torch.Tensor,
        slot_mapping: torch.Tensor,
        query_start: torch.Tensor,
        off_s: int,
        ws: int,
        block_size: int,
        activation: str | None = None,
        use_residual: bool = True,
    ) -> torch.Tensor:
        """Convolves the rows of `x`, stores them in `cache` and returns the result `[T, C]`."""
        if activation not in (None, "silu", "swish"):
            raise ValueError(f"activation is {activation!r}, but must be None, 'silu' or 'swish'")
        T, W = x.shape[0], weight.shape[1]
        if T == 0:
            return torch.empty(x.shape, dtype=x.dtype, device=x.device)
        step = Step(
            x=x,
            cache=self.pages(cache),
            block_table=self.table(block_table),
            position=positions,
            request=seq_idx.long(),
            slot=slot_mapping,
            first_row=query_start.long(),
            row=torch.arange(T, device=x.device),
            is_stored=self.stored_rows(slot_mapping),
            N=self.block_size(block_size, W),
            W=W,
            off_s=off_s,
            ws=ws,
        )
        activated = self.activate(self.sum_taps(step, weight), activation)
        out = self.round(self.add_residual(step, activated) if use_residual else activated, x.dtype)
        self.store(step, self.value_to_store(step, activated, out))
        return self.finish(step, out)

    # What the rows are.

    def pages(self, cache: torch.Tensor) -> torch.Tensor:
        """Returns the cache as it is addressed."""
        return cache

    def table(self, block_table: torch.Tensor) -> torch.Tensor:
        """Returns the block table as it is addressed."""
        return block_table

    def block_size(self, block_size: int, W: int) -> int:
        """Returns the tokens per block used for every address."""
        return block_size

    def stored_rows(self, slot: torch.Tensor) -> torch.Tensor:
        """Returns which rows are stored and have taps."""
        return slot >= 0

    # Taps.

    def sum_taps(self, step: Step, weight: torch.Tensor) -> torch.Tensor:
        """Sums the taps in fp32, from the oldest to the newest."""
        total = torch.zeros(step.x.shape, dtype=torch.float32, device=step.x.device)
        for k in range(step.W):
            total += self.tap(step, step.W - 1 - k).float() * self.tap_weight(weight, k)
        return total

    def tap_weight(self, weight: torch.Tensor, k: int) -> torch.Tensor:
        """Returns the weight `[C]` of the `k`-th oldest tap."""
        return weight[:, k].float()

    def tap(self, step: Step, age: int) -> torch.Tensor:
        """Returns, for every row, the input `age` positions before it: from `x`, from the cache, or 0."""
        from_x = self.comes_from_x(step, age)
        tap = self.mask(step.x[(step.row - age).clamp(min=0)], from_x)
        from_cache = self.has_taps(step) & ~from_x & self.exists(step, age)
        if age == 0 or step.block_table.numel() == 0 or step.cache.numel() == 0:
            return tap
        source = torch.where(from_cache, step.position - age, 0).clamp(min=0)
        request = torch.where(from_cache, step.request, 0)
        block = step.block_table[request, source // step.N].long()
        cached = self.read(step, torch.where(from_cache, block, 0), source % step.N)
        return torch.where(from_cache[:, None], self.mask(cached, from_cache), tap)

    def has_taps(self, step: Step) -> torch.Tensor:
        """Returns which rows have taps at all."""
        return step.is_stored

    def comes_from_x(self, step: Step, age: int) -> torch.Tensor:
        """Returns which rows find the tap of that age among this forward's rows."""
        return self.has_taps(step) & (step.row - age >= step.first_row)

    def exists(self, step: Step, age: int) -> torch.Tensor:
        """Returns for which rows the tap of that age is not before the sequence's start."""
        return step.position >= age

    def mask(self, values: torch.Tensor, is_kept: torch.Tensor) -> torch.Tensor:
        """Returns the rows of `values` that are kept, and zeros for the others."""
        return torch.where(is_kept[:, None], values, torch.zeros((), dtype=values.dtype, device=values.device))

    def read(self, step: Step, block: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
        """Reads the stream's channels `[T, C]` at those blocks and offsets."""
        found = step.cache[block, :, offset, step.off_s : step.off_s + step.ws]
        return found.reshape(step.x.shape)

    # Results.

    def activate(self, total: torch.Tensor, activation: str | None) -> torch.Tensor:
        """Applies the activation; torch's sigmoid in fp32 gives an element other bits at the end of a vector."""
        return total if activation is None else total * torch.sigmoid(total.double()).float()

    def add_residual(self, step: Step, activated: torch.Tensor) -> torch.Tensor:
        """Adds the rows' own inputs in fp32."""
        return activated + step.x.float()

    def round(self, result: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """Rounds fp32 to nearest, ties to even, once."""
        return result.to(dtype)

    def value_to_store(self, step: Step, activated: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """Returns what the cache keeps of every row `[T, C]`."""
        return step.x

    def store(self, step: Step, values: torch.Tensor) -> None:
        """Writes the stored rows' values to their slots."""
        slot = step.slot[step.is_stored]
        self.write(step, slot // step.N, slot % step.N, values[step.is_stored])

    def write(self, step: Step, block: torch.Tensor, offset: torch.Tensor, values: torch.Tensor) -> None:
        """Writes rows of `C` channels at those blocks and offsets of the stream."""
        H = step.cache.shape[1]
        step.cache[block, :, offset, step.off_s : step.off_s + step.ws] = values.reshape(-1, H, step.ws)

    def finish(self, step: Step, out: torch.Tensor) -> torch.Tensor:
        """Returns the operator's result."""
        return out

    # Metadata.

    def sconv_seq_metadata(
        self,
        query_start_loc: torch.Tensor,
        num_reqs: int,
        num_actual_tokens: int,
        seq_idx_out: torch.Tensor,
        query_start_out: torch.Tensor,
        num_padded_tokens: int | None = None,
    ) -> None:
        """Fills the request and its first row, for every row."""
        padded = num_actual_tokens if num_padded_tokens is None else num_padded_tokens
        if padded < num_actual_tokens:
            raise ValueError(f"num_padded_tokens is {padded}, but must be at least {num_actual_tokens}")
        for name, buffer in (("seq_idx_out", seq_idx_out), ("query_start_out", query_start_out)):
            if self.is_too_small(buffer, padded):
                raise ValueError(f"{name} has {buffer.shape[0]} rows, but must have at least {padded}")
        row = torch.arange(num_actual_tokens, device=query_start_loc.device)
        if num_actual_tokens > 0:
            owner = self.search_owner(query_start_loc, num_reqs, row)
            seq_idx_out[:num_actual_tokens] = owner.int()
            query_start_out[:num_actual_tokens] = query_start_loc[owner]
        for buffer in (seq_idx_out, query_start_out):
            self.clear(buffer, num_actual_tokens, padded)

    def is_too_small(self, buffer: torch.Tensor, padded: int) -> bool:
        """Returns whether a buffer has fewer rows than will be written."""
        return padded > buffer.shape[0]

    def search_owner(self, query_start_loc: torch.Tensor, num_reqs: int, row: torch.Tensor) -> torch.Tensor:
        """Returns the first request that ends after each row, by bisection."""
        low, high = torch.zeros_like(row), torch.full_like(row, num_reqs - 1)
        for _ in range(self.search_steps(num_reqs)):
            middle = (low + high) // 2
            has_ended = query_start_loc[middle + 1] <= row
            low, high = torch.where(has_ended, middle + 1, low), torch.where(has_ended, high, middle)
        return low

    def search_steps(self, num_reqs: int) -> int:
        """Returns how often a range of requests must be halved until one is left."""
        return (num_reqs - 1).bit_length()

    def clear(self, buffer: torch.Tensor, begin: int, end: int) -> None:
        """Zeroes the padded rows."""
        buffer[begin:end] = 0


fused_sconv = Plain().fused_sconv
sconv_seq_metadata = Plain().sconv_seq_metadata
