"""The request and the request's first row, for every row, in one launch."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from sconv.checks import check_metadata_arguments

ROW_TILE = 128  # rows a program owns: one a lane of four warps (benchmarks/README.md)
FAN = 4  # parts that a step of the search cuts the requests into: loads of one step do not wait for one another


@triton.jit(
    # What changes from step to step must not compile again.
    do_not_specialize=["num_reqs", "num_actual_tokens", "num_padded_tokens", "steps", "width"],
    do_not_specialize_on_alignment=["query_start_loc_ptr", "seq_idx_ptr", "query_start_ptr"],
)
def _sequence_metadata_kernel(
    query_start_loc_ptr,  # [num_reqs + 1] int32
    seq_idx_ptr,  # [>= num_padded_tokens] int32
    query_start_ptr,  # [>= num_padded_tokens] int32
    num_reqs,
    num_actual_tokens,
    num_padded_tokens,
    steps,
    width,  # FAN ** (steps - 1): requests in each part of the first step
    BLOCK_T: tl.constexpr,
    FAN: tl.constexpr,
):
    """Writes one tile of rows; the owner is the last request that starts at the row or before."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_T + tl.arange(0, BLOCK_T)
    is_actual = row < num_actual_tokens
    sought = row.to(tl.int32)  # of actual rows, which query_start_loc counts in 32 bits
    owner = tl.zeros((BLOCK_T,), tl.int32)  # so far: the first request of the part that holds the owner
    for _ in range(steps):
        parts = tl.zeros((BLOCK_T,), tl.int32)
        for part in tl.static_range(1, FAN):
            request = owner + part * width
            exists = is_actual & (request < num_reqs)
            first_row = tl.load(query_start_loc_ptr + request, mask=exists, other=0)
            parts += (exists & (first_row <= sought)).to(tl.int32)
        owner += parts * width
        width = width // FAN
    first_row = tl.load(query_start_loc_ptr + owner, mask=is_actual, other=0)
    is_described = row < num_padded_tokens
    tl.store(seq_idx_ptr + row, owner, mask=is_described)
    tl.store(query_start_ptr + row, first_row, mask=is_described)


def sconv_seq_metadata(
    query_start_loc: torch.Tensor,
    num_reqs: int,
    num_actual_tokens: int,
    seq_idx_out: torch.Tensor,
    query_start_out: torch.Tensor,
    num_padded_tokens: int | None = None,
) -> None:
    """Fills the buffers ``seq_idx`` and ``query_start`` that ``fused_sconv`` takes.

    Args:
        query_start_loc: ``[>= num_reqs + 1]`` int32, non-decreasing from 0 to ``num_actual_tokens``; the rows
            of request ``r`` start at entry ``r`` and end before entry ``r + 1``.
        num_reqs: number of requests, at most ``2**28``, those without rows (which own none) included.
        num_actual_tokens: number of rows that belong to a request.
        seq_idx_out: ``[>= num_padded_tokens]`` int32, gets the request of every row.
        query_start_out: ``[>= num_padded_tokens]`` int32, gets the first row of that request.
        num_padded_tokens: rows to write, ``None`` for the actual ones; those past the actual ones get 0 in
            both.

    Raises:
        ValueError: ``num_padded_tokens < num_actual_tokens``, a buffer is smaller than ``num_padded_tokens``,
            or another shape, stride, size or device does not fit.
        TypeError: a dtype or a type does not fit.

    Nothing past ``num_padded_tokens`` is written, and no contents are read by the host.
    """
    if num_padded_tokens is None:
        num_padded_tokens = num_actual_tokens
    check_metadata_arguments(
        query_start_loc, num_reqs, num_actual_tokens, seq_idx_out, query_start_out, num_padded_tokens
    )
    if num_padded_tokens == 0:
        return
    steps = -(-max(num_reqs - 1, 0).bit_length() // (FAN.bit_length() - 1))
    with torch.cuda.device_of(query_start_loc):  # Triton launches on the current device, not on the tensors'
        _sequence_metadata_kernel[(triton.cdiv(num_padded_tokens, ROW_TILE),)](
            query_start_loc,
            seq_idx_out,
            query_start_out,
            num_reqs,
            num_actual_tokens,
            num_padded_tokens,
            steps,
            FAN ** max(steps - 1, 0),
            BLOCK_T=ROW_TILE,
            FAN=FAN,
        )
