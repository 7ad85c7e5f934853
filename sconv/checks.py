"""Arguments that break the operators' contract become one-line errors.

Only shapes, strides, dtypes and devices are looked at, never contents: a check costs no device
synchronisation and passes unchanged while a CUDA graph is captured.
"""

from __future__ import annotations

import torch

INPUT_DTYPES = (torch.bfloat16, torch.float16, torch.float32)
WEIGHT_DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
ACTIVATIONS = (None, "silu", "swish")

MAX_REQUESTS = 2**28  # the search steps to eight times as many at most, in 32 bits


def check_tensor(
    name: str,
    value: object,
    dimensions: str,
    dtypes: tuple[torch.dtype, ...],
    device: torch.device | None = None,
) -> None:
    """Raises unless ``value`` is a tensor with an axis per word of ``dimensions``, of one of ``dtypes``."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} is a {type(value).__name__}, but must be a tensor [{dimensions}]")
    if value.dim() != dimensions.count(" ") + 1:
        raise ValueError(f"{name} has shape {tuple(value.shape)}, but must be [{dimensions}]")
    if value.dtype not in dtypes:
        allowed = " or ".join(str(dtype) for dtype in dtypes)
        raise TypeError(f"{name} has dtype {value.dtype}, but must be {allowed}")
    if device is not None and value.device != device:
        raise ValueError(f"{name} is on {value.device}, but must be on {device} like the other tensors")


def check_size(name: str, value: object, minimum: int) -> None:
    """Raises unless ``value`` is an integer of at least ``minimum``."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, but must be an integer")
    if value < minimum:
        raise ValueError(f"{name} is {value}, but must be at least {minimum}")


def check_unit_stride(name: str, value: torch.Tensor) -> None:
    """Raises if neighbours along the last axis of ``value`` are not neighbours in memory."""
    if value.stride(-1) != 1 and value.size(-1) > 1:
        raise ValueError(f"{name} has last stride {value.stride(-1)}, but must have last stride 1")


def check_rows(name: str, value: object, dtype: torch.dtype, T: int, device: torch.device) -> None:
    """Raises unless ``value`` is a contiguous ``[T]`` tensor of ``dtype``."""
    check_tensor(name, value, "T", (dtype,), device)
    assert isinstance(value, torch.Tensor)  # check_tensor has just made sure; this tells the type checker
    if value.size(0) != T:
        raise ValueError(f"{name} has {value.size(0)} rows, but must have {T} like x")
    check_unit_stride(name, value)


def check_fused_arguments(
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
    activation: str | None,
    use_residual: bool,
) -> None:
    """Raises ``ValueError`` or ``TypeError`` for the first wrong argument of ``fused_sconv``."""
    check_tensor("x", x, "T C", INPUT_DTYPES)
    device = x.device
    check_tensor("cache", cache, "num_blocks H N D", (x.dtype,), device)
    check_tensor("weight", weight, "C W", WEIGHT_DTYPES, device)
    check_tensor("block_table", block_table, "R width", (torch.int32,), device)
    check_size("off_s", off_s, 0)
    check_size("ws", ws, 1)
    check_size("block_size", block_size, 1)

    T, C = x.shape
    _, H, N, D = cache.shape
    if block_size != N:
        raise ValueError(f"block_size is {block_size}, but must be {N}, the cache's shape[2]")
    if off_s + ws > D:
        raise ValueError(f"off_s + ws is {off_s} + {ws}, but must be at most {D}, the cache's shape[3]")
    if C != H * ws:
        raise ValueError(f"x has {C} channels, but must have H * ws = {H} * {ws} = {H * ws}")
    if weight.shape[0] != C:
        raise ValueError(f"weight has {weight.shape[0]} channels, but must have {C} like x")
    if weight.shape[1] < 1:
        raise ValueError("weight has 0 taps, but must have at least 1")
    check_unit_stride("x", x)
    check_unit_stride("cache", cache)
    check_unit_stride("block_table", block_table)
    check_rows("positions", positions, torch.int64, T, device)
    check_rows("seq_idx", seq_idx, torch.int32, T, device)
    check_rows("slot_mapping", slot_mapping, torch.int64, T, device)
    check_rows("query_start", query_start, torch.int32, T, device)
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}, but must be None, 'silu' or 'swish'")
    if not isinstance(use_residual, bool):
        raise TypeError(f"use_residual is {use_residual!r}, but must be True or False")


def check_metadata_arguments(
    query_start_loc: torch.Tensor,
    num_reqs: int,
    num_actual_tokens: int,
    seq_idx_out: torch.Tensor,
    query_start_out: torch.Tensor,
    num_padded_tokens: int,
) -> None:
    """Raises ``ValueError`` or ``TypeError`` for the first wrong argument of ``sconv_seq_metadata``."""
    check_tensor("query_start_loc", query_start_loc, "num_reqs+1", (torch.int32,))
    check_size("num_reqs", num_reqs, 0)
    if num_reqs > MAX_REQUESTS:
        raise ValueError(f"num_reqs is {num_reqs}, but must be at most {MAX_REQUESTS}")
    check_size("num_actual_tokens", num_actual_tokens, 0)
    check_size("num_padded_tokens", num_padded_tokens, 0)
    if num_padded_tokens < num_actual_tokens:
        raise ValueError(
            f"num_padded_tokens is {num_padded_tokens}, but must be at least {num_actual_tokens}, "
            "the number of actual tokens"
        )
    check_unit_stride("query_start_loc", query_start_loc)
    if query_start_loc.shape[0] < num_reqs + 1:
        raise ValueError(
            f"query_start_loc has {query_start_loc.shape[0]} entries, but must have at least {num_reqs + 1}, "
            "one more than requests"
        )
    if num_reqs == 0 and num_actual_tokens > 0:
        raise ValueError(f"num_actual_tokens is {num_actual_tokens}, but must be 0 without requests")
    for name, buffer in (("seq_idx_out", seq_idx_out), ("query_start_out", query_start_out)):
        check_tensor(name, buffer, "T", (torch.int32,), query_start_loc.device)
        check_unit_stride(name, buffer)
        if buffer.shape[0] < num_padded_tokens:
            raise ValueError(
                f"{name} has {buffer.shape[0]} rows, but must have at least {num_padded_tokens} with padding"
            )
