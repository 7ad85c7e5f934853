"""Strategies for sizes: far strides, and rows and channels around tiles."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from properties.cases import Forward, Geometry, Metadata, Request, with_dtype
from properties.pinned_edges import WIDE, far_layout
from properties.strategies import GEOMETRIES, LAYOUTS, geometries, requests
from properties.tiles import row_edges, tile_geometries

_TILED_ELEMENTS = 2**15  # rows times channels at the edges of tiles: 127 rows of 256 channels

# Of a prompt: around powers of two, where candidates may take another tile, and past them.
_LONG = (513, 1025, 511, 512, 600, 1024, 1033, 2049, 3001)
_WIDE_LONG = (690, 1033, 700)  # the same at a real stream's width, whose elements cost more
_LONG_STARTS = (0, 1, 3, 9, 70)

# Geometries in which three of them exist, without three of a kind costing more than a few compilations.
_FAR_POOLS = {
    "heads": tuple(geometry for geometry in GEOMETRIES if geometry.H > 2 and geometry.C <= 64),
    "taps": tuple(geometry for geometry in GEOMETRIES if geometry.W > 3 and geometry.C <= 6),
    "channels": tuple(geometry for geometry in GEOMETRIES if 2 < geometry.C <= 6),
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
        layout=far_layout(what, draw(st.sampled_from([0, 1, 16]))),  # odd and even, and multiples of 16
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


@st.composite
def many_rows(draw: st.DrawFn) -> Forward:
    """More rows than 65,535 tiles of 8, one or two long prompts beside decodes, on a cheap geometry."""
    decodes = [Request(start) for start in draw(st.lists(st.sampled_from([3, 0, 64, 65]), max_size=3))]
    rows = 8 * 65_535 + draw(st.sampled_from([1, 0, 7, 8, 9, 255, 256]))
    first = draw(st.sampled_from([rows, rows - 1, rows // 2, 8 * 65_535, 65_536, 3]))
    prompts = [Request(draw(st.sampled_from([0, 1, 70])), length) for length in (first, rows - first) if length]
    place = draw(st.integers(0, len(decodes)))
    return Forward(
        geometry=Geometry(N=64, W=2),
        requests=(*decodes[:place], *prompts, *decodes[place:]),
        pads=draw(st.sampled_from([1, 0, 7])),
        block_seed=draw(st.integers(0, 99)),
        seed=draw(st.integers(0, 2**16)),
    )


@st.composite
def long_forwards(draw: st.DrawFn, dtype: str = "bf16") -> Forward:
    """Some small requests, and prompts of hundreds to thousands of rows among them, with rows without slots.

    Now and then as wide as a real stream, with more than 2^22 elements.
    """
    is_wide = draw(st.integers(0, 15)) == 15
    geometry = with_dtype(WIDE, dtype) if is_wide else draw(geometries(dtype, largest=32))
    drawn, holes = draw(requests(geometry, most=4))
    lengths = _WIDE_LONG if is_wide else _LONG
    prompts = draw(st.lists(st.tuples(st.sampled_from(lengths), st.sampled_from(_LONG_STARTS)), min_size=1, max_size=2))
    place = draw(st.integers(0, len(drawn)))
    first = sum(request.length for request in drawn[:place])
    more = sum(length for length, _ in prompts)
    beside = draw(st.lists(st.integers(0, 4 * more), max_size=3))  # most of them past the end, so none
    moved = {row if row < first else row + more for row in holes} | {first + row for row in beside if row < more}
    parents = [one.fork if one.fork is None or one.fork < place else one.fork + len(prompts) for one in drawn]
    others = [replace(one, fork=parent) for one, parent in zip(drawn, parents, strict=True)]
    long = [Request(start, length) for length, start in prompts]
    return Forward(
        geometry=geometry,
        requests=(*others[:place], *long, *others[place:]),
        pads=draw(st.sampled_from([0, 0, 1, 9])),
        holes=tuple(sorted(moved)),
        use_residual=draw(st.booleans()),
        layout=draw(LAYOUTS),
        block_seed=draw(st.integers(0, 999)),
        seed=draw(st.integers(0, 2**16)),
    )


@st.composite
def metadata_many_rows(draw: st.DrawFn) -> Metadata:
    """The same for the metadata; or more requests than 16 bits count."""
    padding, slack = draw(st.sampled_from([0, 1, 9, 300])), draw(st.sampled_from([0, 3]))
    if draw(st.booleans()):
        repeat = draw(st.sampled_from([65_535, 65_536, 65_537, 70_000]))
        return Metadata(draw(st.sampled_from([(1,), (0, 1), (2,)])), repeat=repeat, padding=padding, slack=slack)
    rows = 8 * 65_535 + draw(st.sampled_from([1, 0, 8, 255, 256]))
    first = draw(st.sampled_from([rows - 1, 3, 65_536, rows // 2]))
    return Metadata((first, 0, rows - first), padding=padding, slack=slack)
