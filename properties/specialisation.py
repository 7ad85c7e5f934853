"""What Triton compiles other code for: arguments that are 1, or that 16 divides, and pointers that 16 bytes divide."""

from __future__ import annotations

from properties.cases import Forward, Metadata
from properties.contract import DTYPES
from properties.memory import RED_ZONE
from properties.paging import place


def kind(number: int) -> str:
    """How Triton specialises a whole number."""
    return "1" if number == 1 else "multiple of 16" if number % 16 == 0 else "other"


def of_forward(case: Forward) -> frozenset[str]:
    """Every scalar that a `fused_sconv` kernel takes, with its kind, and whether tensors are aligned."""
    geometry, layout = case.geometry, case.layout
    H, N, D, W, C = geometry.H, geometry.N, geometry.D, geometry.W, geometry.C
    width = place(case).width + layout.table_columns
    scalars = {
        "T": case.T,
        "N": N,
        "row stride of x": C,
        "page stride": H * N * D + layout.page_pad,
        "head stride": N * D,
        "token stride": D,
        "channel stride of the weight": {"plain": W, "transposed": 1, "sliced": 2 * W}.get(layout.weight, 1),
        "tap stride of the weight": C if layout.weight == "transposed" else 1,
        "row stride of the table": width + layout.table_gap,
        "columns of the table": width,
    }
    size = DTYPES[geometry.dtype].itemsize
    aligned = "aligned" if (RED_ZONE + layout.shift) * size % 16 == 0 else "not aligned"
    return frozenset({f"{name}: {kind(number)}" for name, number in scalars.items()} | {aligned})


def of_metadata(case: Metadata) -> frozenset[str]:
    """Every scalar that a `sconv_seq_metadata` kernel takes, with its kind, and whether tensors are aligned."""
    lengths = case.all_lengths
    actual = sum(lengths)
    scalars = {
        "requests": len(lengths),
        "requests but one": len(lengths) - 1,
        "rows": actual,
        "padded rows": actual + (case.padding or 0),
        "search steps": max(0, len(lengths) - 1).bit_length(),
    }
    aligned = "not aligned" if case.shift % 4 else "aligned"
    return frozenset({f"{name}: {kind(number)}" for name, number in scalars.items()} | {aligned})
