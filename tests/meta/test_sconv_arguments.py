"""The production operators name a wrong argument in one line, before anything runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from sconv import fused_sconv, sconv_seq_metadata


def fused_arguments() -> dict[str, Any]:
    """Two rows of one request, two heads of three channels, three taps, five blocks of four tokens."""
    return {
        "x": torch.zeros(2, 6),
        "weight": torch.zeros(6, 3),
        "cache": torch.zeros(5, 2, 4, 8),
        "positions": torch.tensor([0, 1]),
        "block_table": torch.zeros(1, 2, dtype=torch.int32),
        "seq_idx": torch.zeros(2, dtype=torch.int32),
        "slot_mapping": torch.tensor([0, 1]),
        "query_start": torch.zeros(2, dtype=torch.int32),
        "off_s": 1,
        "ws": 3,
        "block_size": 4,
    }


def metadata_arguments() -> dict[str, Any]:
    """Two requests with three rows, and buffers of four."""
    return {
        "query_start_loc": torch.tensor([0, 1, 3], dtype=torch.int32),
        "num_reqs": 2,
        "num_actual_tokens": 3,
        "seq_idx_out": torch.zeros(4, dtype=torch.int32),
        "query_start_out": torch.zeros(4, dtype=torch.int32),
        "num_padded_tokens": 4,
    }


WRONG_FUSED: list[tuple[str, Any, type[Exception], str]] = [
    ("x", [1.0], TypeError, "x is a list, but must be a tensor [T C]"),
    ("x", torch.zeros(6), ValueError, "x has shape (6,), but must be [T C]"),
    (
        "x",
        torch.zeros(2, 6, dtype=torch.float64),
        TypeError,
        "x has dtype torch.float64, but must be torch.bfloat16 or torch.float16 or torch.float32",
    ),
    ("x", torch.zeros(2, 5), ValueError, "x has 5 channels, but must have H * ws = 2 * 3 = 6"),
    ("x", torch.zeros(6, 2).t(), ValueError, "x has last stride 2, but must have last stride 1"),
    ("weight", torch.zeros(5, 3), ValueError, "weight has 5 channels, but must have 6 like x"),
    ("weight", torch.zeros(6, 0), ValueError, "weight has 0 taps, but must have at least 1"),
    (
        "weight",
        torch.zeros(6, 3, dtype=torch.int32),
        TypeError,
        "weight has dtype torch.int32, but must be torch.bfloat16 or torch.float16 or torch.float32 or torch.float64",
    ),
    (
        "weight",
        torch.zeros(6, 3, device="meta"),
        ValueError,
        "weight is on meta, but must be on cpu like the other tensors",
    ),
    ("cache", torch.zeros(5, 2, 4), ValueError, "cache has shape (5, 2, 4), but must be [num_blocks H N D]"),
    (
        "cache",
        torch.zeros(5, 2, 4, 8, dtype=torch.float16),
        TypeError,
        "cache has dtype torch.float16, but must be torch.float32",
    ),
    (
        "cache",
        torch.zeros(5, 2, 8, 4).transpose(2, 3),
        ValueError,
        "cache has last stride 4, but must have last stride 1",
    ),
    (
        "positions",
        torch.zeros(2, dtype=torch.int32),
        TypeError,
        "positions has dtype torch.int32, but must be torch.int64",
    ),
    ("positions", torch.zeros(3).long(), ValueError, "positions has 3 rows, but must have 2 like x"),
    ("positions", torch.zeros(2, 1).long(), ValueError, "positions has shape (2, 1), but must be [T]"),
    (
        "block_table",
        torch.zeros(1, 2).long(),
        TypeError,
        "block_table has dtype torch.int64, but must be torch.int32",
    ),
    ("block_table", torch.zeros(2).int(), ValueError, "block_table has shape (2,), but must be [R width]"),
    (
        "block_table",
        torch.zeros(2, 3).int().t(),
        ValueError,
        "block_table has last stride 3, but must have last stride 1",
    ),
    ("seq_idx", torch.zeros(2).long(), TypeError, "seq_idx has dtype torch.int64, but must be torch.int32"),
    (
        "seq_idx",
        torch.zeros(4).int()[::2],
        ValueError,
        "seq_idx has last stride 2, but must have last stride 1",
    ),
    ("slot_mapping", None, TypeError, "slot_mapping is a NoneType, but must be a tensor [T]"),
    ("slot_mapping", torch.zeros(1).long(), ValueError, "slot_mapping has 1 rows, but must have 2 like x"),
    ("query_start", torch.zeros(3).int(), ValueError, "query_start has 3 rows, but must have 2 like x"),
    ("off_s", 6, ValueError, "off_s + ws is 6 + 3, but must be at most 8, the cache's shape[3]"),
    ("off_s", -1, ValueError, "off_s is -1, but must be at least 0"),
    ("off_s", 1.0, TypeError, "off_s is 1.0, but must be an integer"),
    ("ws", 0, ValueError, "ws is 0, but must be at least 1"),
    ("block_size", 3, ValueError, "block_size is 3, but must be 4, the cache's shape[2]"),
    ("activation", "relu", ValueError, "activation is 'relu', but must be None, 'silu' or 'swish'"),
    ("use_residual", 1, TypeError, "use_residual is 1, but must be True or False"),
]

WRONG_METADATA: list[tuple[str, Any, type[Exception], str]] = [
    (
        "query_start_loc",
        torch.zeros(3).long(),
        TypeError,
        "query_start_loc has dtype torch.int64, but must be torch.int32",
    ),
    (
        "query_start_loc",
        torch.zeros(2).int(),
        ValueError,
        "query_start_loc has 2 entries, but must have at least 3, one more than requests",
    ),
    ("num_reqs", -1, ValueError, "num_reqs is -1, but must be at least 0"),
    ("num_reqs", 2**28 + 1, ValueError, "num_reqs is 268435457, but must be at most 268435456"),
    ("num_reqs", 0, ValueError, "num_actual_tokens is 3, but must be 0 without requests"),
    ("num_actual_tokens", None, TypeError, "num_actual_tokens is None, but must be an integer"),
    (
        "num_padded_tokens",
        2,
        ValueError,
        "num_padded_tokens is 2, but must be at least 3, the number of actual tokens",
    ),
    (
        "seq_idx_out",
        torch.zeros(3).int(),
        ValueError,
        "seq_idx_out has 3 rows, but must have at least 4 with padding",
    ),
    (
        "query_start_out",
        torch.zeros(3).int(),
        ValueError,
        "query_start_out has 3 rows, but must have at least 4 with padding",
    ),
    (
        "query_start_out",
        torch.zeros(8).int()[::2],
        ValueError,
        "query_start_out has last stride 2, but must have last stride 1",
    ),
    (
        "seq_idx_out",
        torch.zeros(4, dtype=torch.int32, device="meta"),
        ValueError,
        "seq_idx_out is on meta, but must be on cpu like the other tensors",
    ),
]


@pytest.mark.parametrize(("name", "value", "error", "message"), WRONG_FUSED)
def test_fused_sconv_names_what_is_wrong(name: str, value: Any, error: type[Exception], message: str) -> None:
    """One wrong argument among right ones gives exactly this line."""
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        fused_sconv(**{**fused_arguments(), name: value})


@pytest.mark.parametrize(("name", "value", "error", "message"), WRONG_METADATA)
def test_sconv_seq_metadata_names_what_is_wrong(name: str, value: Any, error: type[Exception], message: str) -> None:
    """One wrong argument among right ones gives exactly this line."""
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        sconv_seq_metadata(**{**metadata_arguments(), name: value})


def test_no_rows_give_an_empty_result() -> None:
    """Nothing is launched, so no GPU is needed, and the cache stays as it was."""
    arguments = fused_arguments()
    for name in ("x", "positions", "seq_idx", "slot_mapping", "query_start"):
        arguments[name] = arguments[name][:0]
    assert fused_sconv(**arguments).shape == (0, 6)
    assert not arguments["cache"].any()


def test_no_padded_rows_write_nothing() -> None:
    """Neither rows nor requests is a batch too."""
    arguments = {**metadata_arguments(), "num_reqs": 0, "num_actual_tokens": 0, "num_padded_tokens": 0}
    arguments["seq_idx_out"].fill_(7)
    sconv_seq_metadata(**arguments)
    assert arguments["seq_idx_out"].tolist() == [7, 7, 7, 7]
