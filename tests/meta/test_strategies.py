"""Strategies shrink to the smallest case and reach every edge."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, find, settings

from properties import cases, specialisation, strategies
from properties.cases import Forward, Geometry, Layout, Metadata, Request
from properties.invariants import cache, hazards, metadata, values
from properties.quality import counted

SMALLEST_GEOMETRY = Geometry(H=1, ws=1, N=1, W=2, off_s=0, D=1, dtype="bf16")
SEARCH = settings(max_examples=3000, database=None, suppress_health_check=list(HealthCheck), deadline=None)


def smallest(strategy, condition=lambda _: True):
    """What Hypothesis shrinks to."""
    return find(strategy, condition, settings=SEARCH)


def test_smallest_values():
    """Names the smallest value of every strategy."""
    assert smallest(strategies.geometries("bf16")) == SMALLEST_GEOMETRY
    assert smallest(strategies.starts(SMALLEST_GEOMETRY)) == 0
    assert smallest(strategies.lengths(SMALLEST_GEOMETRY)) == 1
    assert smallest(strategies.requests(SMALLEST_GEOMETRY)) == ((Request(0, 1),), ())
    assert smallest(strategies.LAYOUTS) == Layout()
    assert smallest(strategies.forwards("bf16")) == Forward(geometry=SMALLEST_GEOMETRY)
    assert smallest(strategies.metadata()) == Metadata(lengths=(), padding=0)


def test_a_cached_tap_shrinks_to_one_decode_row():
    """Shrinks a forward that reads the cache to one request with one cached token and one row."""
    found = smallest(strategies.forwards("bf16"), lambda case: "cached tap" in cases.edges(case))
    assert found == Forward(geometry=SMALLEST_GEOMETRY, requests=(Request(1, 1),))


def shares(strategy, edges, count=400):
    """How often each edge is reached in `count` drawn cases, the same ones each time."""
    return counted(strategy, lambda case: dict.fromkeys(edges(case), True), count).shares


def test_forwards_reach_every_edge():
    """Reaches each edge in at least one of a hundred forwards; 400 draws leave room for chance."""
    reached = shares(strategies.forwards("bf16", activations=(None, "silu")), cases.edges)
    every = shares(strategies.forwards("fp32", activations=("silu",)), cases.edges)
    names = set(reached) | set(every)
    wanted = {
        "empty request", "stored row", "cached tap", "window over two blocks", "tap of this forward",
        "tap before position 0", "start inside a block", "rows over three blocks", "decode", "deep position",
        "shared prefix read", "two requests", "no request rows", "no rows", "pad tail",
        "negative slot inside a request", "N differs from W", "gap in D", "offset stream", "one tap", "padded page",
        "window over three blocks", "cached position beyond 65,536", "first request empty", "several heads",
        "many elements", "eight heads", "wider table", "strided table", "unused table rows", "permuted blocks",
        "activation", "no residual", "weight view", "full-size channels",
    }  # fmt: skip  # a list of words reads better in rows
    assert names == wanted
    assert {edge: share for edge, share in reached.items() if share < 0.01} == {}


def test_forwards_reach_every_specialisation():
    """Draws each scalar as 1, as a multiple of 16 and as another number, and tensors on and off 16 bytes."""
    reached = shares(strategies.forwards("bf16"), specialisation.of_forward)
    kinds = ("1", "multiple of 16", "other")
    names = ("T", "N", "row stride of x", "page stride", "head stride", "token stride", "channel stride of the weight",
             "tap stride of the weight", "row stride of the table", "columns of the table")  # fmt: skip  # as above
    wanted = {f"{name}: {kind}" for name in names for kind in kinds} | {"aligned", "not aligned"}
    wanted.remove("channel stride of the weight: multiple of 16")  # W, twice W, or 1
    assert {one: share for one in wanted if (share := reached.get(one, 0)) < 0.01} == {}


def test_metadata_reaches_every_specialisation():
    """The same for the metadata calls."""
    reached = shares(strategies.metadata(), specialisation.of_metadata)
    names = ("requests", "requests but one", "rows", "padded rows")
    wanted = {f"{name}: {kind}" for name in names for kind in ("1", "multiple of 16", "other")}
    wanted |= {"aligned", "not aligned", "search steps: 1", "search steps: other"}
    assert {one: share for one in wanted if (share := reached.get(one, 0)) < 0.01} == {}


def test_metadata_reaches_every_edge():
    """Reaches each edge of the metadata calls in at least one of a hundred."""
    reached = shares(strategies.metadata(), cases.metadata_edges)
    assert set(reached) == metadata.NEEDS | {"no requests"}
    assert {edge: share for edge, share in reached.items() if share < 0.01} == {}


@pytest.mark.parametrize(
    "invariant",
    [values.dense_bound, values.dense_exact, values.one_hot_taps, cache.stores_inputs, cache.write_frame,
     cache.read_frame, cache.table_frame, hazards.fused_sconv],
    ids=lambda invariant: invariant.entry.name,
)  # fmt: skip  # as above
def test_what_a_property_needs_is_common(invariant):
    """Draws what a property needs in at least one of twelve cases: 100 cases miss it once in 6,000 runs."""
    reached = shares(strategies.forwards("bf16", activations=(None, "silu")), cases.edges)
    assert {edge: reached.get(edge, 0) for edge in invariant.entry.needs if reached.get(edge, 0) < 1 / 12} == {}
