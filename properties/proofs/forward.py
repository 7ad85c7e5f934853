"""The symbolic launch of `fused_sconv`: calls whose sizes are all different, so that each argument is told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from properties.contract import DTYPES
from properties.proofs.forms import Form
from properties.proofs.launches import NotJudged, Symbolic, record, symbolic
from properties.proofs.world import PAGE, ROW, TABLE_ROW, World

# No two sizes differ alike in all calls, and the rows lie on both sides of a tile's edge, also if all are even or odd.
PROBES = (
    {"T": 4096, "R": 11, "width": 37, "num_blocks": 53},
    {"T": 4099, "R": 14, "width": 38, "num_blocks": 58},
    {"T": 37, "R": 21, "width": 43, "num_blocks": 60},
)


def launch(operator: Callable[..., Any], world: World, configuration: int = 0) -> Symbolic:
    """Calls the operator at a few sizes and reads off what each argument of its launch is. Raises NotJudged."""
    geometry = world.geometry
    options = {
        "off_s": geometry.off_s, "ws": geometry.ws, "block_size": geometry.N, "activation": world.activation,
        "use_residual": world.use_residual,
    }  # fmt: skip  # as in the contract
    seen = []
    for probe in PROBES:
        rows = probe["T"] if world.parity is None else probe["T"] // 2 * 2 + world.parity
        tensors, sizes = _call(world, {**probe, "T": rows, **world.fixed})
        one = record(operator, {**tensors, **options}, sizes, configuration)
        x, out = tensors["x"], one.result
        if not isinstance(out, torch.Tensor) or (out.shape, out.dtype) != (x.shape, x.dtype) or not out.is_contiguous():
            raise NotJudged("the operator returns no contiguous tensor of the shape and dtype of x")
        one.tensors["out"] = out
        seen.append(one)

    def of(name: str) -> Form:
        return Form.stride(name) if name in (PAGE, ROW, TABLE_ROW) else Form.of(world.size(name))

    return symbolic(seen, of, {} if "T" in world.fixed else {"T": world.T})


def _call(world: World, sizes: dict[str, int]) -> tuple[dict[str, Any], dict[str, int]]:
    """Tensors of these sizes, the large ones never touched; pages and table rows lie apart, rows of x if asked for."""
    geometry = world.geometry
    C, W, H, N, D = geometry.C, geometry.W, geometry.H, geometry.N, geometry.D
    T, R, width, num_blocks = (sizes[name] for name in ("T", "R", "width", "num_blocks"))
    dtype = DTYPES[geometry.dtype]
    row = C + 3 + 2 * R if world.rows_apart else C
    table_row = sizes.get(TABLE_ROW, width + 100 + 2 * R)
    page = sizes.get(PAGE, H * N * D + 1000 + 3 * R)
    tensors = {
        "x": torch.empty(T * row, dtype=dtype).as_strided((T, C), (row, 1)),
        "weight": torch.empty((C, W), dtype=dtype),
        "cache": torch.empty(num_blocks * page, dtype=dtype).as_strided((num_blocks, H, N, D), (page, N * D, D, 1)),
        "positions": torch.zeros(T, dtype=torch.int64),
        "block_table": torch.zeros(R * table_row, dtype=torch.int32).as_strided((R, width), (table_row, 1)),
        "seq_idx": torch.zeros(T, dtype=torch.int32),
        "slot_mapping": torch.zeros(T, dtype=torch.int64),
        "query_start": torch.zeros(T, dtype=torch.int32),
    }
    strides = {TABLE_ROW: table_row, PAGE: page} | ({ROW: row} if world.rows_apart else {})
    return tensors, {name: size for name, size in {**sizes, **strides}.items() if name not in world.fixed}
