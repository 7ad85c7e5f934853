"""Strategies: cases drawn by Hypothesis, simplest first; only this file and size_strategies.py import it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

from properties.cases import Forward, Geometry, Layout, Metadata, Request, Schedule, Streams, with_dtype
from properties.contract import ACTIVATIONS, DTYPES
from properties.paging import place

# One number in twenty Hypothesis takes from the constants of whichever modules are imported by then, other candidates
# too: in another process the same seed would give other cases. There is no setting (tried: 6.170).
_NO_CONSTANTS = providers.Constants()
providers._get_local_constants = lambda: _NO_CONSTANTS

# A bounded pool, since a new geometry costs a compilation: small adversaries first, then models of
# docs/geometries.md scaled down by 16, then the models themselves (one tensor-parallel shard, then whole).
GEOMETRIES: tuple[Geometry, ...] = (
    Geometry(H=1, ws=1, N=1, W=2, off_s=0, D=1),
    Geometry(H=1, ws=2, N=2, W=3, off_s=1, D=4),
    Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8),
    Geometry(H=1, ws=1, N=1, W=1, off_s=0, D=1),
    Geometry(H=2, ws=4, N=3, W=4, off_s=5, D=11),
    Geometry(H=3, ws=5, N=5, W=4, off_s=2, D=9),
    Geometry(H=1, ws=16, N=8, W=4, off_s=16, D=48),
    Geometry(H=2, ws=8, N=7, W=6, off_s=8, D=20),
    Geometry(H=8, ws=4, N=16, W=4, off_s=8, D=16),
    Geometry(H=1, ws=3, N=4, W=5, off_s=1, D=5),
    Geometry(H=1, ws=2, N=1, W=4, off_s=0, D=3),
    Geometry(H=2, ws=2, N=2, W=6, off_s=1, D=6),
    Geometry(H=3, ws=4, N=32, W=5, off_s=4, D=10),
    Geometry(H=1, ws=3, N=64, W=3, off_s=2, D=6),
    Geometry(H=1, ws=257, N=4, W=4, off_s=1, D=300),
    Geometry(H=2, ws=24, N=8, W=4, off_s=40, D=64),
    Geometry(H=2, ws=48, N=16, W=4, off_s=64, D=128),
    Geometry(H=2, ws=128, N=4, W=4, off_s=0, D=1024),
    Geometry(H=2, ws=384, N=16, W=4, off_s=640, D=1024),
    Geometry(H=1, ws=768, N=32, W=4, off_s=1024, D=2048),
    Geometry(H=1, ws=512, N=64, W=4, off_s=768, D=2048),
    Geometry(H=16, ws=384, N=8, W=4, off_s=256, D=1024),
    Geometry(H=8, ws=768, N=8, W=4, off_s=1024, D=2048),
)
# Heads, width of K and V, width of the other two streams, D: a toy, Inkling-local and -global by 16, and at TP 8.
LAYERS = ((1, 1, 2, 7), (2, 8, 24, 64), (2, 8, 48, 128), (2, 128, 384, 1024), (1, 128, 768, 2048))
DEEP_STARTS = (4095, 65536, 65541, 2**17 + 2, 2**20 - 3)
LONG = (19, 27, 40)  # rows that have a tile of eight, and its window, to themselves
_ELEMENTS = 2**16  # rows times channels in one forward: keeps the largest geometries at a few rows
_MOST_ROWS = 96
# Which of a request's rows have no slot: none, its first, second or third, its last, all, all but the first, one
# in seven.
_HOLES: dict[str, slice] = {
    "none": slice(0),
    "first": slice(0, 1),
    "second": slice(1, 2),
    "third": slice(2, 3),
    "last": slice(-1, None),
    "all": slice(None),
    "later": slice(1, None),
    "now and then": slice(4, None, 7),
}
_HOLE = st.sampled_from(["none"] * 5 + [*_HOLES])
# How many requests before it the parent of a fork stands; -1: it has the parent that the request before it has.
_FORK = st.sampled_from([0] * 6 + [1, 1, 2, 2, 3, -1, -1])
# A whole batch of decodes or of verify windows, as an engine sends it; mostly every request has a length of its own.
_ALIKE = st.sampled_from([None] * 9 + [1, 0, 2, 3, 5, 9])
_IS_EMPTY = st.sampled_from([False] * 8 + [True])  # a batch without requests stays rare


@cache
def geometries(dtype: str, largest: int | None = None) -> st.SearchStrategy[Geometry]:
    """A geometry of the pool in one dtype, smallest first; `largest` bounds its channels.

    Small ones come three times as often: what fails on any geometry then fails first on one that shrinks fast.
    """
    small = [geometry for geometry in GEOMETRIES if geometry.C <= 64]
    pool = [g for g in [*small, *GEOMETRIES, *small] if largest is None or largest >= g.C]
    return st.sampled_from([with_dtype(geometry, dtype) for geometry in pool])


@cache
def starts(geometry: Geometry) -> st.SearchStrategy[int]:
    """Tokens already cached: around 0, the window and block edges, now and then deep into a context."""
    N, W = geometry.N, geometry.W
    edges = sorted({0, 1, W - 2, W - 1, W, N - 1, N, N + 1, 2 * N, 2 * N + W - 1} - {-1})
    near = [*edges, *range(3 * N + W)]
    # A table has a column per N positions: small blocks keep contexts shorter.
    deep = [start for start in (*DEEP_STARTS, *DEEP_STARTS[-1:] * 2) if start // N <= 2**17 + 2]
    return st.sampled_from(sorted(near) + deep)


@cache
def lengths(geometry: Geometry) -> st.SearchStrategy[int]:
    """New rows of a request: none, decode, verify windows, chunks around `W` and `N`, prefills over blocks or tiles."""
    N, W = geometry.N, geometry.W
    edges = [0, 0, 2, W - 1, W, W + 1, N - 1, N, N + 1, 8, 8, *LONG]
    # Ascending, since shrinking halves its way down the list; but a request without rows is no simpler than a decode.
    return st.sampled_from([1, 1, *sorted([*edges, *range(10), *range(2, 2 * N + W, max(1, N // 4))])])


@st.composite
def requests(draw: st.DrawFn, geometry: Geometry, most: int = 8) -> tuple[tuple[Request, ...], tuple[int, ...]]:
    """Up to `most` requests within the row budget, some forks of an earlier one; and their rows without a slot.

    A row without a slot is drawn with its request, so that dropping another request leaves it in place.
    """
    budget = max(geometry.W + 2, min(_MOST_ROWS, _ELEMENTS // geometry.C))
    each = st.tuples(lengths(geometry), starts(geometry), _FORK, _HOLE)
    alike = draw(_ALIKE)
    drawn: list[Request] = []
    holes: list[int] = []
    row = 0
    for length, start, fork, hole in draw(st.lists(each, min_size=1, max_size=most)):
        length = min(length if alike is None else alike, budget - row)
        parent = len(drawn) - fork if 0 < fork <= len(drawn) else None
        if fork < 0 and drawn:
            parent = drawn[-1].fork if drawn[-1].fork is not None else len(drawn) - 1
        if parent is not None:  # a fork begins near the last whole block of its parent, which both then read
            start = drawn[parent].start // geometry.N * geometry.N + start % (geometry.W + 1)
        drawn.append(Request(start, length, parent))
        holes += range(row, row + length)[_HOLES[hole]]
        row += length
    return ((), ()) if draw(_IS_EMPTY) else (tuple(drawn), tuple(holes))


_HAS_EVEN_TABLE = st.sampled_from([False] * 4 + [True])
# Plain and tight first.
LAYOUTS = st.builds(
    Layout,
    table_columns=st.sampled_from([0, 1, 3, 15, 16]),
    table_rows=st.sampled_from([0, 1, 5]),
    table_gap=st.sampled_from([0, 1, 3, 16]),
    page_pad=st.sampled_from([0, 0, 1, 8, 16]),
    spare_blocks=st.integers(1, 3),
    weight=st.sampled_from(["plain", "transposed", "sliced"]),
    shift=st.sampled_from([0, 0, 0, 1]),
)


@st.composite
def forwards(
    draw: st.DrawFn,
    dtype: str = "bf16",
    contents: tuple[str, ...] = ("exact",),
    activations: tuple[str | None, ...] = (None,),
    residuals: tuple[bool, ...] = (True, False),
) -> Forward:
    """A forward that the contract allows, in one dtype."""
    geometry = draw(geometries(dtype))
    drawn, holes = draw(requests(geometry))
    forward = Forward(
        geometry=geometry,
        requests=drawn,
        pads=draw(st.sampled_from([0, 0, 1, 2, 5, 7, 16])),
        holes=holes,
        activation=draw(st.sampled_from(activations)),
        use_residual=draw(st.sampled_from(residuals)),
        layout=draw(LAYOUTS),
        contents=draw(st.sampled_from(contents)),
        block_seed=draw(st.integers(0, 999)),
        seed=draw(st.integers(0, 2**16)),
    )
    return _with_even_table(forward) if draw(_HAS_EVEN_TABLE) else forward


def _with_even_table(case: Forward) -> Forward:
    """The same forward with a table of a multiple of 16 columns, which Triton specialises for."""
    columns = case.layout.table_columns
    return replace(case, layout=replace(case.layout, table_columns=columns + -(place(case).width + columns) % 16))


def numbers(dtype: str = "bf16") -> st.SearchStrategy[Forward]:
    """Forwards of every kind of number whose sums round: two in three with any activation, one at the formats' ends."""
    usual = forwards(dtype, ("normal", "wide", "cancel"), ACTIVATIONS)
    return st.one_of(usual, usual, forwards(dtype, ("tiny", "huge")))


@st.composite
def mixed_forwards(draw: st.DrawFn, dtype: str = "bf16") -> Forward:
    """A forward with a weight in another dtype than x; of few geometries, since each mix costs a compilation."""
    geometry = draw(st.sampled_from([GEOMETRIES[1], GEOMETRIES[2], GEOMETRIES[14]]))
    drawn, holes = draw(requests(geometry, most=3))
    others = [other for other in DTYPES if other != dtype]
    return Forward(
        geometry=with_dtype(geometry, dtype),
        requests=drawn,
        holes=holes,
        layout=Layout(weight_dtype=draw(st.sampled_from(others))),
        contents="normal",
        seed=draw(st.integers(0, 2**16)),
    )


@st.composite
def streams(draw: st.DrawFn, dtype: str = "bf16") -> Streams:
    """The four streams of a layer: tiny, models scaled down by 16, and models at one shard."""
    heads, kv, wide, D = draw(st.sampled_from(LAYERS))
    geometry = Geometry(H=heads, ws=wide, N=draw(st.sampled_from([4, 8, 1, 3, 16])), W=4, D=D, dtype=dtype)
    drawn, holes = draw(requests(geometry, most=4))
    forward = Forward(
        geometry=geometry,
        requests=drawn,
        holes=holes,
        pads=draw(st.sampled_from([0, 1, 5, 16])),
        # four streams are four specialisations of each of these, and most cases should find theirs compiled
        activation=draw(st.sampled_from([None] * 6 + [*ACTIVATIONS[1:]])),
        use_residual=draw(st.sampled_from([True] * 5 + [False])),
        layout=draw(LAYOUTS),
        contents="normal",
        block_seed=draw(st.integers(0, 999)),
        seed=draw(st.integers(0, 2**14)),
    )
    return Streams(forward, kv, wide, tuple(draw(st.permutations(range(4)))))


@st.composite
def schedules(draw: st.DrawFn, dtype: str = "bf16", activations: tuple[str | None, ...] = (None, "silu")) -> Schedule:
    """A sequence cut into chunks of one row, around `W` and `N`, or of several blocks."""
    geometry = draw(geometries(dtype))
    N, W = geometry.N, geometry.W
    budget = max(3 * W, min(_MOST_ROWS, _ELEMENTS // 4 // geometry.C))
    edges = [*sorted({1, 2, max(1, W - 2), max(1, W - 1), W, max(1, N - 1), N, N + 1, 2 * N + 1}), 0]
    cuts: list[int] = []
    for cut in draw(st.lists(st.sampled_from(edges), min_size=1, max_size=6)):
        cuts += [cut] if sum(cuts) + cut <= budget else []
    window = draw(st.integers(1, 9))
    return Schedule(
        geometry=geometry,
        cuts=tuple(cuts) or (1,),
        window=window,
        accepted=draw(st.integers(0, 8)) % window,
        activation=draw(st.sampled_from(activations)),
        use_residual=draw(st.sampled_from([True, False])),
        block_seed=draw(st.integers(0, 999)),
        seed=draw(st.integers(0, 2**16)),
    )


@st.composite
def metadata(draw: st.DrawFn) -> Metadata:
    """A metadata call: a few requests, sometimes hundreds of them, with padding and slack."""
    few = st.lists(st.integers(0, 1), max_size=2)
    more = st.lists(st.one_of(st.integers(0, 3), st.sampled_from([0, 1, 4, 255, 255, 256, 257])), max_size=8)
    lengths = draw(st.one_of(few, more, more, more, more))
    repeat = draw(st.sampled_from([1, 2, 9, 16, 65])) if sum(lengths) <= 64 else 1
    return Metadata(
        lengths=tuple(lengths),
        repeat=repeat,
        padding=draw(st.sampled_from([0, 1, 7, 256, None])),
        slack=draw(st.sampled_from([0, 1, 300])),
        extra=draw(st.sampled_from([0, 1, 40])),
        shift=draw(st.sampled_from([0, 0, 0, 1])),
        seed=draw(st.integers(0, 2**16)),
    )
