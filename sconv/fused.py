"""One stream's short convolution and cache insert, in one launch."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from sconv.checks import check_channel_tiles, check_fused_arguments

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
    """Convolves the new rows with the cached ones before them, and stores the new rows' inputs in the cache.

    Args:
        x: ``[T, C]`` bf16, fp16 or fp32, last stride 1, rows any distance apart (a slice of a packed
            projection).
        weight: ``[C, W]``, any strides and any of those dtypes or fp64; column ``W-1`` multiplies the current
            row.
        cache: ``[num_blocks, H, N, D]`` in the dtype of ``x``, last stride 1; conv inputs by position.
        positions: ``[T]`` int64, absolute position of each row.
        block_table: ``[R, width]`` int32, last stride 1; logical block to physical block.
        seq_idx: ``[T]`` int32, the row's request.
        slot_mapping: ``[T]`` int64, ``block * N + offset``; a negative value marks a row that is not stored.
        query_start: ``[T]`` int32, first row of the row's request.
        off_s: first channel of the stream within ``D``.
        ws: channels of the stream within a head, so that ``C == H * ws``.
        block_size: ``N``, tokens per block.
        activation: ``None``, ``"silu"`` or ``"swish"``, applied before the residual.
        use_residual: adds ``x`` to the result.

    Returns:
        ``[T, C]`` contiguous, dtype of ``x``: the taps of each row summed in fp32 from the oldest to the
        newest, the activation, the residual, one rounding. Taps from the request's first row on come from
        ``x``, older ones from ``cache``, and those before position 0 are zero. A row with a negative slot has
        no taps.

    Raises:
        ValueError: a shape, stride, size, device or ``activation`` does not fit.
        TypeError: a dtype or a type does not fit.

    Nothing but ``cache`` and the result is written, and no contents are read by the host.
    """
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
    check_channel_tiles(channel_tiles, H, ws)
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
