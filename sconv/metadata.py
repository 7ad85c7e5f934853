"""The request and the request's first row, for every row, in one launch."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from sconv.checks import check_metadata_arguments

ROW_TILE = 256  # rows a program owns: one warp-wide search each, and 8,192 rows spread over 32 programs


@triton.jit(
    # What changes from step to step must not compile again.
    do_not_specialize=["num_actual_tokens", "num_padded_tokens", "last_request", "search_steps"],
    do_not_specialize_on_alignment=["query_start_loc_ptr", "seq_idx_ptr", "query_start_ptr"],
)
def _sequence_metadata_kernel(
    query_start_loc_ptr,  # [num_reqs + 1] int32
    seq_idx_ptr,  # [>= num_padded_tokens] int32
    query_start_ptr,  # [>= num_padded_tokens] int32
    num_actual_tokens,
    num_padded_tokens,
    last_request,
    search_steps,
    BLOCK_T: tl.constexpr,
):
    """Writes one tile of rows; the owner is the first request that ends after the row."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_T + tl.arange(0, BLOCK_T)
    is_actual = row < num_actual_tokens
    low = tl.zeros((BLOCK_T,), tl.int32)
    high = low + last_request
    for _ in range(search_steps):
        middle = low + (high - low) // 2
        has_ended = tl.load(query_start_loc_ptr + middle + 1, mask=is_actual, other=0) <= row
        low = tl.where(has_ended, middle + 1, low)
        high = tl.where(has_ended, high, middle)
    owner = tl.where(is_actual, low, 0)
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
        num_reqs: number of requests, those without rows (which own none) included.
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
    last_request = max(num_reqs - 1, 0)
    with torch.cuda.device_of(query_start_loc):  # Triton launches on the current device, not on the tensors'
        _sequence_metadata_kernel[(triton.cdiv(num_padded_tokens, ROW_TILE),)](
            query_start_loc,
            seq_idx_out,
            query_start_out,
            num_actual_tokens,
            num_padded_tokens,
            last_request,
            search_steps=last_request.bit_length(),
            BLOCK_T=ROW_TILE,
        )
