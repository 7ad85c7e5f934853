"""A small autotuned kernel file: a convolution whose configurations are right but for one, where one is planted."""

from __future__ import annotations

from pathlib import Path

# The plain operators do the work; an autotuned kernel then copies the result. WRONG is a BLOCK whose copy loses its
# first element; a heuristic and a prune hook stand between launch and kernel as they do in real files.
TEXT = '''"""An autotuned copy behind the plain operators."""

import torch
import triton
import triton.language as tl

from tests.meta.candidates import plain
from tests.meta.candidates.plain import sconv_seq_metadata


def fitting(configs, named, **rest):
    """Leaves out tiles of more than four times the elements, unless all are."""
    return [one for one in configs if one.kwargs["BLOCK"] <= 4 * named["n"]] or configs[:1]


@triton.autotune(
    [triton.Config({{"BLOCK": size}}, num_warps=warps) for size, warps in ((4, 1), (8, 2), (16, 4), (65536, 8))],
    key=["n"],
    prune_configs_by={{"early_config_prune": fitting}},
)
@triton.heuristics({{"IS_EVEN": lambda named: named["n"] % named["BLOCK"] == 0}})
@triton.jit
def copied(source_ptr, out_ptr, n, BLOCK: tl.constexpr, IS_EVEN: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offset < n
    value = tl.load(source_ptr + offset, mask=mask, other=0.0)
    if BLOCK == {wrong}:
        value = tl.where(offset == 0, 0.0, value)
    tl.store(out_ptr + offset, value, mask=mask)


def fused_sconv(x, weight, cache, positions, block_table, seq_idx, slot_mapping, query_start, off_s, ws, block_size,
                activation=None, use_residual=True):
    result = plain.fused_sconv(x, weight, cache, positions, block_table, seq_idx, slot_mapping, query_start,
                               off_s, ws, block_size, activation, use_residual)
    out = torch.empty_like(result)
    n = result.numel()
    if n:
        copied[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](result, out, n)
    return out
'''


def write_tuned(folder: Path, wrong: int = 0) -> Path:
    """Writes the file, with the configuration of that BLOCK gone wrong, and returns its path."""
    path = folder / f"tuned_{wrong}.py"
    path.write_text(TEXT.format(wrong=wrong))
    return path
