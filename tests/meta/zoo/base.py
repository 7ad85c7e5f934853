"""Both operators, plain and correct: what every animal of the zoo is a small change of.

A comment of the form "name: what follows does" heads each paragraph that an animal may put another in place of.
"""

import torch
import triton
import triton.language as tl

# sizes: rows of a program, channels of a program, rows of a program of the metadata
ROW_TILE = 8
CHANNEL_TILE = 64
METADATA_TILE = 256


@triton.jit
def _fused_sconv_kernel(
    x_ptr,  # [T, C]
    weight_ptr,  # [C, W]
    cache_ptr,  # [num_blocks, H, N, D]
    out_ptr,  # [T, C] contiguous
    position_ptr,  # [T] int64
    table_ptr,  # [R, columns] int32
    request_ptr,  # [T] int32
    slot_ptr,  # [T] int64
    first_row_ptr,  # [T] int32
    T,
    N,
    stride_x,
    stride_block,
    stride_head,
    stride_token,
    stride_channel,
    stride_tap,
    stride_table,
    OFF_S: tl.constexpr,
    WS: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    USE_SILU: tl.constexpr,
    USE_RESIDUAL: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    TILES: tl.constexpr = (WS + BLOCK_C - 1) // BLOCK_C
    # programs: rows on the first axis of the grid, heads and channels within a head on the second
    row_tile = tl.program_id(0).to(tl.int64)
    channel_tile = tl.program_id(1)

    # tile: rows and channels of this program
    row = row_tile * BLOCK_T + tl.arange(0, BLOCK_T)
    head = (channel_tile // TILES).to(tl.int64)
    lane = channel_tile % TILES * BLOCK_C + tl.arange(0, BLOCK_C)

    # masks: rows of the forward, channels of the head
    has_row = row < T
    in_head = lane < WS

    # metadata: what is known of each row
    slot = tl.load(slot_ptr + row, mask=has_row, other=-1)
    is_stored = slot >= 0
    first_row = tl.load(first_row_ptr + row, mask=has_row, other=0)
    request = tl.load(request_ptr + row, mask=has_row, other=0).to(tl.int64)
    position = tl.load(position_ptr + row, mask=has_row, other=0)

    x_ptr += head * WS
    weight_ptr += (head * WS + lane) * stride_channel
    cache_ptr += head * stride_head + OFF_S
    has_element = has_row[:, None] & in_head[None, :]
    x = tl.load(x_ptr + (row * stride_x)[:, None] + lane[None, :], mask=has_element, other=0.0)

    total = tl.zeros((BLOCK_T, BLOCK_C), tl.float32)
    for k in tl.static_range(W):
        age = W - 1 - k
        source_row = row - age
        source = position - age
        # sources: rows of this forward come from x, earlier ones from the cache, none lies before position 0
        from_x = is_stored & (source_row >= first_row)
        from_cache = is_stored & (source_row < first_row) & (source >= 0)

        tap = tl.load(
            x_ptr + (source_row * stride_x)[:, None] + lane[None, :],
            mask=from_x[:, None] & in_head[None, :],
            other=0.0,
        )

        # address: where in the cache a tap is
        source = tl.where(from_cache, source, 0)
        block = tl.load(table_ptr + request * stride_table + source // N, mask=from_cache, other=0).to(tl.int64)
        offset = block * stride_block + source % N * stride_token

        # cached: a tap from the cache, or 0
        cached = tl.load(
            cache_ptr + offset[:, None] + lane[None, :],
            mask=from_cache[:, None] & in_head[None, :],
            other=0.0,
        )

        # weight: of this tap
        tap_weight = tl.load(weight_ptr + tl.cast(stride_tap, tl.int64) * k, mask=in_head, other=0.0)

        # sum: fp32
        tap = tap.to(tl.float32) + cached.to(tl.float32)
        total += tap * tap_weight.to(tl.float32)[None, :]

    # result: activation, then residual
    if USE_SILU:
        total = total * tl.sigmoid(total)
    if USE_RESIDUAL:
        total += x.to(tl.float32)

    # round: to the dtype of x
    out = total.to(out_ptr.dtype.element_ty)

    # output: a row without a slot has one as well
    tl.store(out_ptr + (row * (H * WS) + head * WS)[:, None] + lane[None, :], out, mask=has_element)

    # store: inputs go to their slots
    slot = tl.where(is_stored, slot, 0)
    offset = slot // N * stride_block + slot % N * stride_token
    tl.store(cache_ptr + offset[:, None] + lane[None, :], x, mask=has_element & is_stored[:, None])


def fused_sconv(
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
    """Convolves the new rows with what is cached before them, and stores them."""
    assert x.stride(1) == 1
    assert cache.stride(3) == 1
    T, C = x.shape
    H, N = cache.shape[1:3]
    assert (C, block_size) == (H * ws, N)
    W = weight.shape[1]
    out = torch.empty((T, C), dtype=x.dtype, device=x.device)
    if T == 0:
        return out
    # grid: rows on its first axis
    rows = T
    grid = (triton.cdiv(rows, ROW_TILE), H * triton.cdiv(ws, CHANNEL_TILE))

    # sizes of the cache: as its strides say
    tokens = block_size
    strides = cache.stride(0), cache.stride(1), cache.stride(2)
    table_stride = block_table.stride(0)

    # launch: all of it, once
    _fused_sconv_kernel[grid](
        x, weight, cache, out, positions, block_table, seq_idx, slot_mapping, query_start,
        T, tokens, x.stride(0), *strides, weight.stride(0), weight.stride(1), table_stride,
        OFF_S=off_s, WS=ws, H=H, W=W, USE_SILU=activation is not None, USE_RESIDUAL=use_residual,
        BLOCK_T=ROW_TILE, BLOCK_C=CHANNEL_TILE,
    )  # fmt: skip  # arguments grouped by role
    return out


@triton.jit
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
    row = tl.program_id(0).to(tl.int64) * BLOCK_T + tl.arange(0, BLOCK_T)
    is_actual = row < num_actual_tokens
    low = tl.zeros((BLOCK_T,), tl.int32)
    high = low + last_request
    # search: the first request that ends after the row
    for _ in range(search_steps):
        middle = low + (high - low) // 2
        has_ended = tl.load(query_start_loc_ptr + middle + 1, mask=is_actual, other=0) <= row
        low = tl.where(has_ended, middle + 1, low)
        high = tl.where(has_ended, high, middle)

    owner = tl.where(is_actual, low, 0)
    first_row = tl.load(query_start_loc_ptr + owner, mask=is_actual, other=0)
    # described: rows to write, padding included
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
    """Writes the request of each row, and that request's first row."""
    if num_padded_tokens is None:
        num_padded_tokens = num_actual_tokens
    # guard: the buffers hold what is written
    if num_padded_tokens < num_actual_tokens:
        raise ValueError(f"num_padded_tokens is {num_padded_tokens}, less than num_actual_tokens")
    if min(len(seq_idx_out), len(query_start_out)) < num_padded_tokens:
        raise ValueError(f"a buffer has less than {num_padded_tokens} rows")

    if num_padded_tokens == 0:
        return
    last_request = max(num_reqs - 1, 0)
    # steps: of the search, each of which halves what is left
    steps = last_request.bit_length()

    grid = (triton.cdiv(num_padded_tokens, METADATA_TILE),)
    _sequence_metadata_kernel[grid](
        query_start_loc, seq_idx_out, query_start_out,
        num_actual_tokens, num_padded_tokens, last_request, steps, BLOCK_T=METADATA_TILE,
    )  # fmt: skip  # arguments grouped by role
