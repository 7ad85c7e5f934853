"""One stream's short convolution and cache insert, in one launch."""

from __future__ import annotations

import torch
import triton

from sconv import tiles
from sconv.checks import check_fused_arguments
from sconv.fused_kernel import fused_sconv_kernel


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
    W = weight.shape[1]
    out = torch.empty((T, C), dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    capability = torch.cuda.get_device_capability(x.device) if x.is_cuda else None
    tile = tiles.choose(T, C, x.element_size(), capability)
    with torch.cuda.device_of(x):  # Triton launches on the current device, which need not be the tensors'
        fused_sconv_kernel[(triton.cdiv(T, tile.rows) * triton.cdiv(C, tile.channels),)](
            x, weight, cache, out, positions, block_table, seq_idx, slot_mapping, query_start,
            T, N, N.bit_length() - 1,
            x.stride(0), cache.stride(0), cache.stride(1), cache.stride(2),
            weight.stride(0), weight.stride(1), block_table.stride(0),
            OFF_S=off_s, WS=ws, H=H, W=W,
            USE_SILU=activation is not None, USE_RESIDUAL=use_residual,
            BLOCK_T=tile.rows, AT_ONCE=tile.at_once, BLOCK_C=tile.channels, MAY_BE_STEADY=tile.steady,
            N_IS_POWER=N & (N - 1) == 0, PACKED_WEIGHT=W == 4 and weight.stride() == (4, 1),
            num_warps=tile.warps,
        )  # fmt: skip  # arguments grouped by role
    return out
