"""The kernel of `fused_sconv`: a tile of rows and channels a program, in one of two ways.

Where all taps of a tile's rows are in x, as nearly everywhere in a prefill, the tile is *steady*: every row of x
is loaded once and stays in registers while it is the current row and then a tap, so that memory sees one read
and two writes an element. The other tiles, and all of a decode, look up each tap in x, in the cache or nowhere.

Offsets are 64-bit throughout: row, block, request, channel and tap times their strides may pass 2**31.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _page(position, N, log2_N, N_IS_POWER: tl.constexpr):
    """Cuts positions, or slots, into block and offset; a 64-bit division costs as much as the rest of a row."""
    if N_IS_POWER:
        return position >> log2_N, position & (N - 1)
    return position // N, position % N


@triton.jit
def _load_weights(
    weight_ptr, channel, in_stream, stride_channel, stride_tap,
    W: tl.constexpr, BLOCK_C: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip  # arguments grouped by role
    """Loads the weights of every tap, oldest first: W tensors [BLOCK_C]."""
    if PACKED:
        # A channel's four taps lie together: loaded as they lie and then parted, a warp's loads touch a quarter
        # of the lines.
        place = channel[:, None].to(tl.int64) * 4 + tl.arange(0, 4)[None, :]
        taps = tl.load(weight_ptr + place, mask=in_stream[:, None])
        even, odd = taps.reshape(BLOCK_C, 2, 2).split()
        tap_0, tap_2 = even.split()
        tap_1, tap_3 = odd.split()
        return (tap_0, tap_1, tap_2, tap_3)
    weight_ptr += channel.to(tl.int64) * stride_channel
    weights = ()
    for k in tl.static_range(W):
        weights += (tl.load(weight_ptr + tl.cast(stride_tap, tl.int64) * k, mask=in_stream),)
    return weights


@triton.jit
def _finish(total, current, USE_SILU: tl.constexpr, USE_RESIDUAL: tl.constexpr):
    """Applies the activation, then adds the residual."""
    if USE_SILU:
        total = total * tl.sigmoid(total)
    if USE_RESIDUAL:
        total += current
    return total


@triton.jit
def _steady_rows(
    x_ptr, stream_ptr, out_ptr, slot_ptr,
    tile_row, channel, in_stream, weights,
    T, N, log2_N, stride_x, stride_cache_block, stride_cache_token,
    C: tl.constexpr, W: tl.constexpr, USE_SILU: tl.constexpr, USE_RESIDUAL: tl.constexpr,
    BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr, N_IS_POWER: tl.constexpr,
):  # fmt: skip  # arguments grouped by role
    """Convolves and stores BLOCK_T rows that have all their taps in x."""
    rows = ()
    for j in tl.static_range(BLOCK_T + W - 1):
        row = tile_row + (j - (W - 1))
        rows += (tl.load(x_ptr + row * stride_x + channel, mask=in_stream & (row < T)),)
    for j in tl.static_range(BLOCK_T):
        row = tile_row + j
        has_row = row < T
        slot = tl.load(slot_ptr + row, mask=has_row, other=-1)
        is_stored = slot >= 0
        total = tl.zeros((BLOCK_C,), tl.float32)
        for k in tl.static_range(W):
            total += rows[j + k].to(tl.float32) * weights[k].to(tl.float32)
        total = tl.where(is_stored, total, 0.0)
        x = rows[j + W - 1]
        total = _finish(total, x.to(tl.float32), USE_SILU, USE_RESIDUAL)
        tl.store(out_ptr + row * C + channel, total.to(out_ptr.dtype.element_ty), mask=in_stream & has_row)
        block, offset = _page(tl.where(is_stored, slot, 0), N, log2_N, N_IS_POWER)
        place = block * stride_cache_block + offset * stride_cache_token
        tl.store(stream_ptr + place, x, mask=in_stream & is_stored)


@triton.jit
def _any_rows(
    x_ptr, stream_ptr, out_ptr, position_ptr, block_table_ptr, request_ptr, slot_ptr, first_row_ptr,
    row, channel, in_stream, weights,
    T, N, log2_N, stride_x, stride_cache_block, stride_cache_token, stride_table,
    C: tl.constexpr, W: tl.constexpr, USE_SILU: tl.constexpr, USE_RESIDUAL: tl.constexpr,
    ROWS: tl.constexpr, BLOCK_C: tl.constexpr, N_IS_POWER: tl.constexpr,
):  # fmt: skip  # arguments grouped by role
    """Convolves and stores rows [ROWS] whose taps are in x, in the cache or nowhere."""
    has_row = row < T
    has_element = has_row[:, None] & in_stream[None, :]
    slot = tl.load(slot_ptr + row, mask=has_row, other=-1)
    is_stored = slot >= 0
    # The current row is read once: it is the newest tap, the residual and the value to store.
    x = tl.load(x_ptr + (row * stride_x)[:, None] + channel[None, :], mask=has_element)
    total = tl.zeros((ROWS, BLOCK_C), tl.float32)
    if W > 1:
        first_row = tl.load(first_row_ptr + row, mask=has_row)
        request = tl.load(request_ptr + row, mask=has_row).to(tl.int64)
        position = tl.load(position_ptr + row, mask=has_row)
        for k in tl.static_range(W - 1):
            source_row = row - (W - 1 - k)
            from_x = is_stored & (source_row >= first_row)
            tap = tl.load(
                x_ptr + (source_row * stride_x)[:, None] + channel[None, :],
                mask=from_x[:, None] & in_stream[None, :],
                other=0.0,
            )
            source = position - (W - 1 - k)
            from_cache = is_stored & (source_row < first_row) & (source >= 0)
            logical, offset = _page(tl.where(from_cache, source, 0), N, log2_N, N_IS_POWER)
            block = tl.load(block_table_ptr + request * stride_table + logical, mask=from_cache)
            place = block.to(tl.int64) * stride_cache_block + offset * stride_cache_token
            cached = tl.load(stream_ptr[None, :] + place[:, None], mask=from_cache[:, None] & in_stream[None, :])
            tap = tl.where(from_cache[:, None], cached, tap)
            total += tap.to(tl.float32) * weights[k].to(tl.float32)[None, :]
    current = x.to(tl.float32)
    total += tl.where(is_stored[:, None], current, 0.0) * weights[W - 1].to(tl.float32)[None, :]
    total = _finish(total, current, USE_SILU, USE_RESIDUAL)
    tl.store(out_ptr + (row * C)[:, None] + channel[None, :], total.to(out_ptr.dtype.element_ty), mask=has_element)
    block, offset = _page(tl.where(is_stored, slot, 0), N, log2_N, N_IS_POWER)
    place = block * stride_cache_block + offset * stride_cache_token
    tl.store(stream_ptr[None, :] + place[:, None], x, mask=has_element & is_stored[:, None])


@triton.jit(
    # What changes from step to step neither compiles again nor is worth an aligned vector load.
    do_not_specialize=["T", "N", "log2_N", "stride_table"],
    do_not_specialize_on_alignment=[
        "position_ptr",
        "block_table_ptr",
        "request_ptr",
        "slot_ptr",
        "first_row_ptr",
    ],
)
def fused_sconv_kernel(
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
    log2_N,  # where N is a power of two
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
    AT_ONCE: tl.constexpr,
    BLOCK_C: tl.constexpr,
    MAY_BE_STEADY: tl.constexpr,
    N_IS_POWER: tl.constexpr,
    PACKED_WEIGHT: tl.constexpr,
):
    """Convolves and stores one tile of rows and channels.

    Neighbouring programs own neighbouring channels of the same rows, so that memory is walked as it lies.
    """
    C: tl.constexpr = H * WS
    CHANNEL_TILES: tl.constexpr = (C + BLOCK_C - 1) // BLOCK_C
    tile_row = (tl.program_id(0) // CHANNEL_TILES).to(tl.int64) * BLOCK_T
    channel = tl.program_id(0) % CHANNEL_TILES * BLOCK_C + tl.arange(0, BLOCK_C)
    in_stream = channel < C
    stream_ptr = cache_ptr + (channel // WS).to(tl.int64) * stride_cache_head + (OFF_S + channel % WS)
    weights = _load_weights(
        weight_ptr, channel, in_stream, stride_weight_channel, stride_weight_tap, W, BLOCK_C, PACKED_WEIGHT
    )
    is_steady = False
    if MAY_BE_STEADY:
        # Rows of a request are contiguous, so if the tile's last row began its request W-1 rows before the tile,
        # so did every other row. A negative slot says nothing about its row's request.
        last_row = tl.minimum(tile_row + BLOCK_T, T) - 1
        is_steady = (tl.load(slot_ptr + last_row) >= 0) & (tl.load(first_row_ptr + last_row) <= tile_row - (W - 1))
    if is_steady:
        _steady_rows(
            x_ptr, stream_ptr, out_ptr, slot_ptr,
            tile_row, channel, in_stream, weights,
            T, N, log2_N, stride_x, stride_cache_block, stride_cache_token,
            C, W, USE_SILU, USE_RESIDUAL, BLOCK_T, BLOCK_C, N_IS_POWER,
        )  # fmt: skip  # arguments grouped by role
    else:
        for first in range(0, BLOCK_T, AT_ONCE):
            _any_rows(
                x_ptr, stream_ptr, out_ptr, position_ptr, block_table_ptr, request_ptr, slot_ptr, first_row_ptr,
                tile_row + first + tl.arange(0, AT_ONCE), channel, in_stream, weights,
                T, N, log2_N, stride_x, stride_cache_block, stride_cache_token, stride_table,
                C, W, USE_SILU, USE_RESIDUAL, AT_ONCE, BLOCK_C, N_IS_POWER,
            )  # fmt: skip  # arguments grouped by role
