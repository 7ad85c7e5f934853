"""The geometries that proofs are made at: adversaries first, then the models' widest stream."""

from __future__ import annotations

from dataclasses import replace

from properties.cases import Geometry, with_dtype

SMALL = (
    Geometry(H=1, ws=2, N=2, W=3, off_s=1, D=4),
    Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8),
    Geometry(H=2, ws=4, N=3, W=4, off_s=5, D=11),
)
REAL = {
    "inkling-global": Geometry(H=8, ws=768, N=8, W=4, off_s=1024, D=2048),
    "inkling-local": Geometry(H=16, ws=384, N=8, W=4, off_s=640, D=1024),
    "inkling-small": Geometry(H=8, ws=512, N=8, W=4, off_s=768, D=2048),
}
SHARDS = (1, 2, 4, 8)  # tensor parallel ranks that the heads are split over
BLOCK_SIZES = (4, 8, 16, 32)
DTYPES_OF_SMALL = ("fp16", "bf16", "fp32")  # one each: a dtype changes little of what is proved


def quick(dtype: str) -> list[Geometry]:
    """Small ones, and one real one in bf16."""
    found = [with_dtype(one, dtype) for one, its in zip(SMALL, DTYPES_OF_SMALL, strict=True) if its == dtype]
    return [*found, REAL["inkling-global"]] if dtype == "bf16" else found


def every(dtype: str) -> list[Geometry]:
    """All small ones, and every model in every shard at every block size."""
    real = [
        replace(one, H=one.H // ranks, N=N) for one in REAL.values() for ranks in SHARDS for N in BLOCK_SIZES
    ]  # fmt: skip  # a product
    return [with_dtype(one, dtype) for one in (*SMALL, *real)]
