"""Which request owns each row, by the plain searchsorted construction."""

from __future__ import annotations

import torch


def sequence_metadata(
    query_start_loc: torch.Tensor,
    num_reqs: int,
    num_actual_tokens: int,
    num_padded_tokens: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns ``seq_idx`` and ``query_start``, both ``[num_padded_tokens]`` int32.

    Args:
        query_start_loc: ``[>= num_reqs + 1]`` int32, non-decreasing from 0 to ``num_actual_tokens``; request
            ``r`` has the rows from entry ``r`` up to, and without, entry ``r + 1``. Entries beyond are
            ignored.
        num_reqs: number of requests, those without rows included.
        num_actual_tokens: number of rows that belong to a request.
        num_padded_tokens: number of rows to describe; ``None`` means ``num_actual_tokens``.

    For a row below ``num_actual_tokens`` the owner is the number of requests that end at or before the row (a
    right-sided ``searchsorted`` in the requests' ends): requests without rows end where they start, so they
    own none. Rows from ``num_actual_tokens`` on get 0 in both. Source: the contract of
    ``sconv_seq_metadata``.
    """
    if num_padded_tokens is None:
        num_padded_tokens = num_actual_tokens
    seq_idx = torch.zeros(num_padded_tokens, dtype=torch.int32, device=query_start_loc.device)
    query_start = torch.zeros_like(seq_idx)
    if num_actual_tokens > 0:
        rows = torch.arange(num_actual_tokens, dtype=torch.int32, device=query_start_loc.device)
        ends = query_start_loc[1 : num_reqs + 1].contiguous()
        owners = torch.searchsorted(ends, rows, right=True)
        seq_idx[:num_actual_tokens] = owners.to(torch.int32)
        query_start[:num_actual_tokens] = query_start_loc[owners]
    return seq_idx, query_start
