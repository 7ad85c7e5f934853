"""Tiles: the sizes in which a candidate's kernels cut rows and channels, as far as it exposes them."""

from __future__ import annotations

from typing import Any

from properties.cases import Forward, Geometry, Metadata, Request, with_dtype
from properties.tensors import build, build_metadata

POWERS = tuple(2**power for power in range(1, 10))  # where a candidate exposes nothing
LARGEST = 1024  # more elements than this in one direction of a tile are unheard of
# A narrow and a wide forward, since tiles often follow the channels; no size of theirs is a power of two.
_PROBES = (
    Forward(Geometry(H=1, ws=3, N=5, W=3, off_s=1, D=7), (Request(start=6, length=3),)),
    Forward(Geometry(H=3, ws=277, N=11, W=5, off_s=7, D=301), (Request(start=13, length=19),)),
)


def of_fused_sconv(ops: Any) -> tuple[int, ...]:
    """Powers of two among the constants of `fused_sconv`, ascending; empty where there are none."""
    if not ops.offers("fused_sconv"):
        return ()
    batches = [build(case, device=ops.device) for case in _PROBES]
    return _powers(set().union(*(ops.constants("fused_sconv", **batch.arguments) for batch in batches)))


def of_metadata(ops: Any) -> tuple[int, ...]:
    """The same for `sconv_seq_metadata`."""
    if not ops.offers("sconv_seq_metadata"):
        return ()
    batch = build_metadata(Metadata(lengths=(3, 7, 9)), ops.device)
    arguments = {name: guarded.view for name, guarded in batch.guarded.items()}
    counts = {"num_reqs": batch.num_reqs, "num_actual_tokens": batch.num_actual_tokens}
    return _powers(ops.constants("sconv_seq_metadata", **arguments, **counts))


def _powers(constants: set[int]) -> tuple[int, ...]:
    """Only powers of two can be a tile: `tl.arange` takes no other sizes."""
    return tuple(sorted(one for one in constants if 2 <= one <= LARGEST and one & (one - 1) == 0))


def row_edges(tiles: tuple[int, ...]) -> list[int]:
    """One less, as many and one more than each tile, and than two of them, and than powers of two, ascending.

    Powers of two in any case: rows cost no compilation.
    """
    return sorted({n * tile + more for tile in (*POWERS, *tiles) for n in (1, 2) for more in (-1, 0, 1)})


def tile_geometries(tiles: tuple[int, ...]) -> list[Geometry]:
    """Channels around each tile, in one head and as two heads of one more; around powers of two without one of 8.

    A dtype each, as tiles hardly depend on it.
    """
    known = tiles if max(tiles, default=0) >= 8 else POWERS
    widths = sorted({tile + more for tile in known for more in (-1, 0, 1)})
    one_head = [Geometry(H=1, ws=ws, N=4, W=4, off_s=1, D=ws + 2) for ws in widths]
    two_heads = [Geometry(H=2, ws=tile + 1, N=8, W=3, D=tile + 1) for tile in known]
    dtypes = ("bf16", "fp32", "fp16")
    return [with_dtype(geometry, dtypes[place % 3]) for place, geometry in enumerate([*one_head, *two_heads])]
