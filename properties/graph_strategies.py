"""Strategies for graphs: the batches of a captured step, and how it is cut into graphs."""

from __future__ import annotations

from hypothesis import strategies as st

from properties.cases import Forward, Geometry, with_dtype
from properties.replays import Replays
from properties.strategies import GEOMETRIES, LAYERS, requests

# Few, since what graphs are about lies outside of the kernel, and each costs every bucket's specialisations.
GRAPH_GEOMETRIES = tuple(one for one in GEOMETRIES if one.C in (2, 6, 16) and one.W in (3, 4))


@st.composite
def replays(draw: st.DrawFn, dtype: str = "bf16", mode: str | None = "piecewise") -> Replays:
    """Batches of one geometry for a captured step: "piecewise", "full", "breakable", or any of them."""
    mode = mode or draw(st.sampled_from(["piecewise", "full", "breakable"]))
    layers, kv, wide = 0, 1, 1
    geometry = with_dtype(draw(st.sampled_from(GRAPH_GEOMETRIES)), dtype)
    if mode != "piecewise":
        layers = draw(st.integers(1, 2)) if mode == "full" else 1
        heads, kv, wide, D = draw(st.sampled_from(LAYERS[:2]))
        geometry = Geometry(H=heads, ws=wide, N=draw(st.sampled_from([4, 8, 3])), W=4, D=D, dtype=dtype)
    use_residual = draw(st.booleans())
    batches = []
    for drawn, holes in draw(
        st.lists(requests(geometry, most=3), min_size=1, max_size=4 if mode == "piecewise" else 3)
    ):
        batches.append(
            Forward(
                geometry=geometry,
                requests=drawn,
                holes=holes,
                pads=draw(st.sampled_from([0, 1])),
                use_residual=use_residual,
                contents="normal",
                block_seed=draw(st.integers(0, 99)),
                seed=draw(st.integers(0, 2**12)),
            )
        )
    inside = draw(st.booleans())
    stages = Replays(layers=layers, inside=inside).stages
    breaks, eager = tuple(range(1, stages)), None
    if mode == "full":
        breaks = ()
    elif mode == "breakable":
        breaks = tuple(sorted(draw(st.sets(st.integers(1, stages - 1), max_size=2))))
        eager = draw(st.none() | st.integers(0, stages - 1))
    return Replays(
        forwards=tuple(batches),
        spare=draw(st.sampled_from([0, 1, 4])),
        small=draw(st.sampled_from([0, 1, 4, 8])),
        layers=layers,
        kv=kv,
        wide=wide,
        inside=inside,
        breaks=breaks,
        eager=eager,
        dummy=draw(st.sampled_from(["pad", "first"])),
    )
