"""Strategies for sizes: far strides, and rows and channels around tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from properties.cases import FAR, Forward, Layout, Metadata, Request, with_dtype
from properties.strategies import GEOMETRIES, geometries, requests
from properties.tiles import row_edges, tile_geometries

_TILED_ELEMENTS = 2**15  # rows times channels at the edges of tiles: 127 rows of 256 channels

# What lies 2^30 elements apart; odd and even distances, and multiples of 16.
_FAR_LAYOUTS: dict[str, Callable[[int], Layout]] = {
    "blocks": lambda more: Layout(page_pad=FAR + more, spare_blocks=3),
    "rows": lambda more: Layout(x_gap=FAR + more),
    "table": lambda more: Layout(table_gap=FAR + more),
    "heads": lambda more: Layout(head_stride=FAR + more),
    "taps": lambda more: Layout(weight="far"),
}
# Geometries in which three of them exist, without three of a kind costing more than a few compilations.
_FAR_POOLS = {
    "heads": tuple(geometry for geometry in GEOMETRIES if geometry.H > 2 and geometry.C <= 64),
    "taps": tuple(geometry for geometry in GEOMETRIES if geometry.W > 3 and geometry.C <= 6),
}


@st.composite
def far_forwards(draw: st.DrawFn, dtype: str = "bf16", what: str = "blocks") -> Forward:
    """A forward of a few small requests in which `what` lie 2^30 elements apart: the third is past 2^31."""
    pool = _FAR_POOLS.get(what)
    small = geometries(dtype, largest=64) if pool is None else st.sampled_from([with_dtype(g, dtype) for g in pool])
    geometry = draw(small)
    drawn, _ = draw(requests(geometry, most=3))
    short = tuple(replace(request, length=min(request.length, 2)) for request in drawn)
    return Forward(
        geometry=geometry,
        requests=short,
        layout=_FAR_LAYOUTS[what](draw(st.sampled_from([0, 1, 16]))),
        use_residual=draw(st.booleans()),
        block_seed=draw(st.integers(0, 999)),
        seed=draw(st.integers(0, 2**16)),
    )


@st.composite
def tile_forwards(draw: st.DrawFn, tiles: tuple[int, ...] = ()) -> Forward:
    """Row and channel counts around the candidate's tiles; without one of 8 or more, around powers of two up to 512.

    One request, or two that meet in a tile. `pinned.tile_forwards` has each size once.
    """
    geometry = draw(st.sampled_from(tile_geometries(tiles)))
    fitting = [T for T in row_edges(tiles) if T * geometry.C <= _TILED_ELEMENTS]
    T = draw(st.sampled_from(fitting))
    first = draw(st.sampled_from([T, T - 1, 1, T // 2]))
    starts = st.sampled_from([0, 1, 2, 3, 4, 9])
    drawn = (Request(draw(starts), first), Request(draw(starts), T - first))
    pads = draw(st.sampled_from([0, 0, 1]))
    return Forward(
        geometry=geometry,
        requests=drawn if first < T else drawn[:1],
        pads=pads,
        holes=draw(st.sampled_from([(), (), (T - 1,)])),
        use_residual=False,
        block_seed=draw(st.integers(0, 99)),
        seed=draw(st.integers(0, 2**16)),
    )


@st.composite
def tile_metadata(draw: st.DrawFn, tiles: tuple[int, ...] = ()) -> Metadata:
    """Rows, padded rows and requests around the candidate's tiles and powers of two."""
    around_tiles = st.sampled_from(row_edges(tiles))
    if draw(st.booleans()):
        return Metadata(lengths=(draw(st.sampled_from([1, 0, 2])),), repeat=draw(around_tiles), slack=1)
    actual = draw(around_tiles)
    first = draw(st.sampled_from([actual, 1, actual // 2]))
    padded = draw(around_tiles)
    return Metadata(lengths=(first, 0, actual - first), padding=max(0, padded - actual), slack=1)


def only(cases: list[Any]) -> st.SearchStrategy[Any]:
    """These cases and no others: too large to draw more of, each is judged once a run."""
    return st.sampled_from(cases)
