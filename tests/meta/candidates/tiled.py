"""A kernel that tiles rows and channels head by head, and a binary search: what tests change in one place.

`sconv/` began like this. It stays here as it is, so that tests which name its lines do not follow every tuning.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from sconv.checks import check_fused_arguments, check_metadata_arguments

ROW_TILE = 4  # rows a program owns: few enough that a decode batch spreads over the device
MAX_CHANNEL_TILE = 256  # with 4 rows, 1024 elements for two warps: the sums stay in registers
MIN_DIVIDING_TILE = 64  # below this, wasted lanes cost less than the extra programs


@triton.jit
def _sum_earlier_taps(
    x_ptr,  # at the tile's channels
    weight_ptr,  # at the tile's channels, shape [BLOCK_C]
    cache_ptr,  # at the tile's head and stream
    block_table_ptr,
    row,  # [BLOCK_T] int64
    is_stored,  # [BLOCK_T]
    first_row,  # [BLOCK_T]
    request,  # [BLOCK_T]
    position,  # [BLOCK_T]
    lane,  # [BLOCK_C]
    in_head,  # [BLOCK_C]
    N,
    stride_x,
    stride_cache_block,
    stride_cache_token,
    stride_weight_tap,
    stride_table,
    W: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_C: tl.constexpr,
    READS_CACHE: tl.constexpr,
):
    """Sums every tap but the current row's, oldest first, in fp32."""
    total = tl.zeros((BLOCK_T, BLOCK_C), tl.float32)
    for k in tl.static_range(W - 1):
        age = W - 1 - k
        source_row = row - age
        from_x = is_stored
        if READS_CACHE:
            from_x = is_stored & (source_row >= first_row)
        tap = tl.load(
            x_ptr + (source_row * stride_x)[:, None] + lane[None, :],
            mask=from_x[:, None] & in_head[None, :],
            other=0.0,
        )
        if READS_CACHE:
            source = position - age
            from_cache = is_stored & (source_row < first_row) & (source >= 0)
            source = tl.where(from_cache, source, 0)
            block = tl.load(block_table_ptr + request * stride_table + source // N, mask=from_cache, other=0)
            offset = block.to(tl.int64) * stride_cache_block + source % N * stride_cache_token
            cached = tl.load(
                cache_ptr + offset[:, None] + lane[None, :],
                mask=from_cache[:, None] & in_head[None, :],
                other=0.0,
            )
            tap = tl.where(from_cache[:, None], cached, tap)
        tap_weight = tl.load(weight_ptr + tl.cast(stride_weight_tap, tl.int64) * k, mask=in_head, other=0.0)
        total += tap.to(tl.float32) * tap_weight.to(tl.float32)[None, :]
    return total


@triton.jit(
    # What changes from step to step neither compiles again nor is worth an aligned vector load.
    do_not_specialize=["T", "N", "stride_table"],
    do_not_specialize_on_alignment=[
        "position_ptr",
        "block_table_ptr",
        "request_ptr",
        "slot_ptr",
        "first_row_ptr",
    ],
)
def _fused_sconv_kernel(
    x_ptr,  # [T, C]
    weight_ptr,  # [C, W]
    cache_ptr,  # [num_blocks, H, N, D]
    out_ptr,  # [T, C] contiguous
    position_ptr,  # [T] int64
    block_table_ptr,  # [R, width] int32
    request_ptr,  # [T] int32
    slot_ptr,  # [T] int64
    first_row_ptr,  # [T] int32
    T,
    N,
    stride_x,
    stride_cache_block,
    stride_cache_head,
    stride_cache_token,
    stride_weight_channel,
    stride_weight_tap,
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
    """Convolves and stores one tile of rows, for a slice of one head's channels.

    Offsets are 64-bit throughout: row, block, request, channel and tap times their strides may pass 2**31.
    """
    TILES_PER_HEAD: tl.constexpr = (WS + BLOCK_C - 1) // BLOCK_C
    tile_row = tl.program_id(0).to(tl.int64) * BLOCK_T
    head = (tl.program_id(1) // TILES_PER_HEAD).to(tl.int64)
    lane = tl.program_id(1) % TILES_PER_HEAD * BLOCK_C + tl.arange(0, BLOCK_C)
    in_head = lane < WS
    row = tile_row + tl.arange(0, BLOCK_T)
    has_row = row < T
    has_element = has_row[:, None] & in_head[None, :]

    slot = tl.load(slot_ptr + row, mask=has_row, other=-1)
    is_stored = slot >= 0
    x_ptr += head * WS
    weight_ptr += (head * WS + lane) * stride_weight_channel
    cache_ptr += head * stride_cache_head + OFF_S

    # The current row is read once: it is the newest tap, the residual and the value to store.
    x = tl.load(x_ptr + (row * stride_x)[:, None] + lane[None, :], mask=has_element, other=0.0)
    current = x.to(tl.float32)

    total = tl.zeros((BLOCK_T, BLOCK_C), tl.float32)
    if W > 1:
        first_row = tl.load(first_row_ptr + row, mask=has_row, other=0)
        request = tl.load(request_ptr + row, mask=has_row, other=0).to(tl.int64)
        position = tl.load(position_ptr + row, mask=has_row, other=0)
        # Rows of a request are contiguous, so if the tile's last row began its request W-1 rows before the
        # tile, so did every other row: no tap is in the cache. A negative slot says nothing about its row's
        # request.
        last_row = tl.minimum(tile_row + BLOCK_T, T) - 1
        reads_cache = (tl.load(slot_ptr + last_row) < 0) | (tl.load(first_row_ptr + last_row) > tile_row - (W - 1))
        if reads_cache:
            total = _sum_earlier_taps(
                x_ptr, weight_ptr, cache_ptr, block_table_ptr,
                row, is_stored, first_row, request, position, lane, in_head,
                N, stride_x, stride_cache_block, stride_cache_token, stride_weight_tap, stride_table,
                W, BLOCK_T, BLOCK_C, READS_CACHE=True,
            )  # fmt: skip  # arguments grouped by role
        else:
            total = _sum_earlier_taps(
                x_ptr, weight_ptr, cache_ptr, block_table_ptr,
                row, is_stored, first_row, request, position, lane, in_head,
                N, stride_x, stride_cache_block, stride_cache_token, stride_weight_tap, stride_table,
                W, BLOCK_T, BLOCK_C, READS_CACHE=False,
            )  # fmt: skip  # arguments grouped by role
    newest_weight = tl.load(weight_ptr + tl.cast(stride_weight_tap, tl.int64) * (W - 1), mask=in_head, other=0.0)
    total += tl.where(is_stored[:, None], current, 0.0) * newest_weight.to(tl.float32)[None, :]

    if USE_SILU:
        total = total * tl.sigmoid(total)
    if USE_RESIDUAL:
        total += current

    tl.store(
        out_ptr + (row * (H * WS) + head * WS)[:, None] + lane[None, :],
        total.to(out_ptr.dtype.element_ty),
        mask=has_element,
    )
    slot = tl.where(is_stored, slot, 0)
    offset = slot // N * stride_cache_block + slot % N * stride_cache_token
    tl.store(cache_ptr + offset[:, None] + lane[None, :], x, mask=has_element & is_stored[:, None])


def _channel_tile(ws: int) -> int:
    """Returns how many channels of a head one program covers, a power of two."""
    divisor = ws & -ws
    return min(divisor if divisor >= MIN_DIVIDING_TILE else triton.next_power_of_2(ws), MAX_CHANNEL_TILE)


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
    """As `sconv.fused_sconv`."""
    check_fused_arguments(
        x, weight, cache, positions, block_table, seq_idx, slot_mapping, query_start,
        off_s, ws, block_size, activation, use_residual,
    )  # fmt: skip  # arguments grouped by role
    T, C = x.shape
    _, H, N, _ = cache.shape
    out = torch.empty((T, C), dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    channel_tile = _channel_tile(ws)
    channel_tiles = H * triton.cdiv(ws, channel_tile)
    with torch.cuda.device_of(x):  # Triton launches on the current device, which need not be the tensors'
        _fused_sconv_kernel[(triton.cdiv(T, ROW_TILE), channel_tiles)](
            x, weight, cache, out, positions, block_table, seq_idx, slot_mapping, query_start,
            T, N,
            x.stride(0), cache.stride(0), cache.stride(1), cache.stride(2),
            weight.stride(0), weight.stride(1), block_table.stride(0),
            OFF_S=off_s, WS=ws, H=H, W=weight.shape[1],
            USE_SILU=activation is not None, USE_RESIDUAL=use_residual,
            BLOCK_T=ROW_TILE, BLOCK_C=channel_tile,
            num_warps=2 if channel_tile == MAX_CHANNEL_TILE else 1,
        )  # fmt: skip  # arguments grouped by role
    return out


METADATA_TILE = 256  # rows a program owns


@triton.jit(
    # What changes from step to step must not compile again.
    do_not_specialize=["num_actual_tokens", "num_padded_tokens", "last_request", "search_steps"],
    do_not_specialize_on_alignment=["query_start_loc_ptr", "seq_idx_ptr", "query_start_ptr"],
)
def _binary_search_kernel(
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
    """As `sconv.sconv_seq_metadata`."""
    if num_padded_tokens is None:
        num_padded_tokens = num_actual_tokens
    check_metadata_arguments(
        query_start_loc, num_reqs, num_actual_tokens, seq_idx_out, query_start_out, num_padded_tokens
    )
    if num_padded_tokens == 0:
        return
    last_request = max(num_reqs - 1, 0)
    with torch.cuda.device_of(query_start_loc):  # Triton launches on the current device, not on the tensors'
        _binary_search_kernel[(triton.cdiv(num_padded_tokens, METADATA_TILE),)](
            query_start_loc,
            seq_idx_out,
            query_start_out,
            num_actual_tokens,
            num_padded_tokens,
            last_request,
            search_steps=last_request.bit_length(),
            BLOCK_T=METADATA_TILE,
        )
