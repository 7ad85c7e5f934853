"""Pinned cases that reach all that a property needs, so that no run is vacuous by the luck of the draw."""

from __future__ import annotations

from dataclasses import replace

from properties.cases import FAR, Forward, Geometry, Layout, Metadata, Request, Schedule, Streams, with_dtype
from properties.contract import DTYPES
from properties.lives import Admit, Fork, Free, LetGo, Life, Preempt, Rows, Step, WarmUp
from properties.replays import Replays

# They are in the pool of the strategies, so that they cost no compilation of their own.
_HEADS = Geometry(H=8, ws=4, N=16, W=4, off_s=8, D=16)
_TWO_HEADS = Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8)
_THREE_HEADS = Geometry(H=3, ws=5, N=5, W=4, off_s=2, D=9)
# A real stream's channels: a prompt of 700 rows has more elements than candidates take for small.
WIDE = Geometry(H=8, ws=768, N=8, W=4, off_s=0, D=768)

_EVERYTHING = Forward(
    _HEADS,
    (Request(start=17, length=3), Request(start=5, length=0), Request(start=17, fork=0), Request(start=1, length=4)),
    pads=2,
    holes=(1,),
    layout=Layout(table_columns=1, table_rows=1, table_gap=1, page_pad=1, weight="transposed", shift=1),
    block_seed=1,
)


def forwards(dtype: str, contents: str = "exact", use_residual: bool = True) -> list[Forward]:
    """A fork, a decode, an empty request, a row without a slot and padding, in the least convenient layout.

    Two of them: what a seed chooses, such as the poisoned input, falls into `x` in one and into the cache in the other.
    """
    case = replace(
        _EVERYTHING,
        geometry=with_dtype(_HEADS, dtype),
        contents=contents,
        use_residual=use_residual,
    )
    return [case, replace(case, seed=3)]


def long_forwards(dtype: str) -> list[Forward]:
    """Decodes before and after prompts of hundreds of rows, one of which has rows without a slot; one of real width."""
    case = Forward(
        with_dtype(_TWO_HEADS, dtype),
        (Request(start=5), Request(start=9, length=700), Request(length=520), Request(start=3, length=2)),
        pads=1,
        holes=(300, 301, 1000),
    )
    wide = Forward(with_dtype(WIDE, dtype), (Request(start=5), Request(start=9, length=700)), pads=1, holes=(300,))
    return [case, wide]


def mixed(dtype: str) -> list[Forward]:
    """A weight in each other dtype, on a geometry that the strategy draws."""
    requests = (Request(start=5, length=3), Request(start=1))
    others = [other for other in DTYPES if other != dtype]
    geometry = with_dtype(_TWO_HEADS, dtype)
    return [Forward(geometry, requests, contents="normal", layout=Layout(weight_dtype=other)) for other in others]


def schedules(dtype: str) -> list[Schedule]:
    """A prompt over three blocks, in chunks around the window; of a window of drafts some are kept."""
    return [Schedule(with_dtype(_TWO_HEADS, dtype), cuts=(2, 5, 3, 1), window=4, accepted=1, block_seed=1)]


def streams(dtype: str) -> list[Streams]:
    """The toy layer, its streams in another order than they lie."""
    geometry = Geometry(ws=2, N=4, W=4, D=7, dtype=dtype)
    requests = (Request(start=5, length=3), Request(start=1))
    return [Streams(Forward(geometry, requests, pads=1, contents="normal"), kv=1, wide=2, order=(2, 0, 3, 1))]


def metadata() -> list[Metadata]:
    """Hundreds of requests, empty ones first and last; and a call that leaves the padding out."""
    return [
        Metadata(lengths=(0, 1, 3, 1, 0), repeat=65, padding=7, slack=3),
        Metadata(lengths=(0, 2, 1, 0), padding=None, slack=1),
    ]


def replays(mode: str) -> list[Replays]:
    """Batches that shrink, grow and vanish in two buckets, captured with padding and with a batch."""
    geometry, layers = _TWO_HEADS, {}
    if mode != "piecewise":
        geometry, layers = Geometry(ws=2, N=4, W=4, D=7), {"layers": 2 if mode == "full" else 1, "kv": 1, "wide": 2}
    window = Forward(geometry, (Request(start=5, length=4), Request(start=9)), contents="normal")
    batches = (replace(window, requests=window.requests[:1], block_seed=1), replace(window, requests=()), window)
    broken = {"breaks": (2,), "eager": 3} if mode == "breakable" else {}
    if mode == "piecewise":
        broken = {"breaks": (1,)}
    case = Replays(batches, small=4, inside=True, **layers, **broken)  # type: ignore[arg-type]  # integers by name
    return [case, replace(case, dummy="first")]


def far_layout(what: str, more: int = 0) -> Layout:
    """The layout in which "blocks", "rows", "table" rows, "heads" or a weight's "taps" or "channels" are far apart.

    That is 2^30 elements, and `more` where it is no weight.
    """
    layouts = {
        "blocks": Layout(page_pad=FAR + more, spare_blocks=3),
        "rows": Layout(x_gap=FAR + more),
        "table": Layout(table_gap=FAR + more),
        "heads": Layout(head_stride=FAR + more),
        "taps": Layout(weight="far"),
        "channels": Layout(weight="far channels"),
    }
    return layouts[what]


def far_forwards(dtype: str, what: str = "blocks") -> list[Forward]:
    """Three requests, a decode among them, whose rows and cached taps reach past the third of what lies apart."""
    geometry = _THREE_HEADS if what == "heads" else _TWO_HEADS
    requests = (Request(start=3, length=2), Request(start=5), Request(start=6, length=2))
    return [Forward(with_dtype(geometry, dtype), requests, layout=far_layout(what), block_seed=1)]


def lives(dtype: str) -> list[Life]:
    """A life of four streams over two layers that meets everything an engine does, in graphs and out of them."""
    steps = (
        WarmUp(4),
        Admit(is_poisoned=True),
        Step((Rows(count=9),)),
        Free(0),
        Admit(),
        Step((Rows(1, 9),), pads=1),
        Fork(1, 6),
        Step((Rows(1), Rows(2, 2)), is_replayed=True),
        Step((Rows(1, 5, rejected=3), Rows(2, 3))),
        Step((Rows(2), Rows(1)), is_replayed=True),
        Preempt(2),
        Step((Rows(1), Rows(2, 7))),
        LetGo(1),
        Step((Rows(1, 2), Rows(2))),
    )
    geometry = Geometry(ws=2, N=4, W=4, D=14, dtype=dtype)
    return [Life(geometry, steps, kv=1, layers=2, blocks=12, block_seed=1)]
