"""Sizes: extreme ones give what small ones give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from properties.cases import FAR, Forward, Layout, Metadata, edges, metadata_edges
from properties.contents import bits
from properties.invariants.caches import compare as compare_caches
from properties.invariants.caches import difference
from properties.invariants.metadata import compare
from properties.invariants.run import compare_bits, exact, forward, number, ran, refuses_view
from properties.number_words import plural
from properties.tally import invariant
from properties.tensors import build, expected_cache
from properties.tiles import POWERS


def _as_near(ops: Any, property_name: str, case: Forward) -> None:
    """The case gives the output and the cache that it gives with everything close together, bit for bit."""
    __tracebackhide__ = True
    near_case = replace(case, layout=Layout(spare_blocks=case.layout.spare_blocks))
    near = build(near_case, device=ops.device)
    wanted = ran(ops, near, property_name, "the run with everything close together")
    far = build(case, device=ops.device)
    compare_bits(ops, property_name, far, forward(ops, far, property_name), wanted.out, other=wanted)
    compare_caches(ops, property_name, far, near, "as with everything close together")


def far_edges(case: Forward) -> frozenset[str]:
    """The edges of a forward, and what lies past 2^31 elements: pages, or a third row, table row, head or tap."""
    geometry, layout = case.geometry, case.layout
    later = any(request.start and request.length for request in case.requests[2:])
    facts = {
        "far page": layout.page_pad >= FAR,
        "far row": layout.x_gap >= FAR and any(row not in case.holes for row in range(2, case.rows)),
        "far table row": layout.table_gap >= FAR and geometry.W > 1 and later,
        "far head": layout.head_stride >= FAR and geometry.H > 2,
        "far tap": layout.weight == "far" and geometry.W > 3,
        "far channel": layout.weight == "far channels" and geometry.C > 2,
    }
    return edges(case) | {name for name, holds in facts.items() if holds}


@invariant("sizes", needs={"far page", "cached tap", "stored row", "decode"}, edges=far_edges)
def far_blocks(ops: Any, case: Forward) -> None:
    """Blocks beyond 2^31 elements give the outputs and the cache that neighbouring blocks give, bit for bit."""
    __tracebackhide__ = True
    _as_near(ops, "sizes.far_blocks", case)


@invariant("sizes", needs={"far table row", "cached tap", "stored row"}, edges=far_edges)
def far_table(ops: Any, case: Forward) -> None:
    """Block-table rows beyond 2^31 elements give what neighbouring rows give, bit for bit."""
    __tracebackhide__ = True
    _as_near(ops, "sizes.far_table", case)


@invariant("sizes", needs={"far head", "cached tap", "stored row"}, edges=far_edges)
def far_heads(ops: Any, case: Forward) -> None:
    """Heads outside of the pages, beyond 2^31 elements, give what heads inside them give, bit for bit."""
    __tracebackhide__ = True
    _as_near(ops, "sizes.far_heads", case)


@invariant("sizes", needs={"far tap", "far channel", "cached tap", "stored row"}, edges=far_edges)
def far_weights(ops: Any, case: Forward) -> None:
    """Taps or channels of the weight beyond 2^31 elements give what a contiguous weight gives, bit for bit."""
    __tracebackhide__ = True
    _as_near(ops, "sizes.far_weights", case)


@invariant("sizes", needs={"far row", "cached tap", "tap of this forward"}, edges=far_edges)
def far_rows(ops: Any, case: Forward) -> None:
    """Rows of `x` beyond 2^31 elements, where the candidate accepts rows apart, give the same, bit for bit."""
    __tracebackhide__ = True
    if refuses_view(ops, build(case, device=ops.device)):
        return
    _as_near(ops, "sizes.far_rows", case)


def _beside(size: int) -> bool:
    """Whether a size is one less or one more than a tile of eight or more could be."""
    return size > 6 and any(abs(size - power) == 1 for power in POWERS)


def tile_edges_reached(case: Forward) -> frozenset[str]:
    """The edges of a forward, and those that rows and channels lie beside."""
    more = {"rows beside a power of two"} if _beside(case.T) else set()
    more |= {"many rows beside a power of two"} if _beside(case.T) and case.T > 126 else set()
    more |= {"channels beside a power of two"} if _beside(case.geometry.ws) else set()
    more |= {"rows beyond 65,535 tiles of 8"} if case.T > 8 * 65_535 else set()
    more |= {"more than 2^22 elements"} if case.T * case.geometry.C > 2**22 else set()
    more |= {"request of more than 512 rows"} if any(one.length > 512 for one in case.requests) else set()
    return edges(case) | more


def metadata_edges_reached(case: Metadata) -> frozenset[str]:
    """The edges of a metadata call, and those that rows, padded rows and requests lie beside."""
    lengths = case.all_lengths
    rows = sum(lengths)
    facts = {
        "rows beside a power of two": _beside(rows),
        "padded rows beside a power of two": _beside(rows + (case.padding or 0)),
        "requests beside a power of two": _beside(len(lengths)),
        "rows beyond 65,535 tiles of 8": rows > 8 * 65_535,
        "more requests than 16 bits": len(lengths) > 2**16,
    }
    return metadata_edges(case) | {name for name, holds in facts.items() if holds}


def _as_reference(ops: Any, property_name: str, case: Forward) -> None:
    """Output and whole cache are what the dense reference says, bit for bit."""
    __tracebackhide__ = True
    batch = build(case, device=ops.home)
    out = forward(ops, batch, property_name)
    truth, _ = exact(batch)
    compare_bits(ops, property_name, batch, out, truth.to(out.dtype), signed_zero=False)
    cache, wanted = batch.guarded["cache"], expected_cache(batch)
    wrong = (bits(cache.memory) != bits(wanted)).nonzero().flatten()
    if len(wrong):
        but = f"{plural(len(wrong), 'element')} of the cache's memory differ"
        raise difference(ops, property_name, batch, int(wrong[0]), number(wanted[wrong[0]]), but)


ROWS_AND_CHANNELS = {"many rows beside a power of two", "channels beside a power of two"}


@invariant("sizes", needs={"cached tap", "two requests"} | ROWS_AND_CHANNELS, edges=tile_edges_reached)
def tile_edges(ops: Any, case: Forward) -> None:
    """Rows and channels one off the candidate's tiles (constexprs, constants, configurations) equal the reference.

    Bit for bit, the whole cache included. Where no tile is found, channels lie around powers of two up to 512.
    """
    __tracebackhide__ = True
    _as_reference(ops, "sizes.tile_edges", case)


METADATA = {f"{what} beside a power of two" for what in ("rows", "padded rows", "requests")}


@invariant("sizes", operator="sconv_seq_metadata", needs=METADATA, edges=metadata_edges_reached)
def metadata_tile_edges(ops: Any, case: Metadata) -> None:
    """Rows, padded rows and requests within one of tiles and powers of two give the searchsorted construction."""
    __tracebackhide__ = True
    compare(ops, case, "sizes.metadata_tile_edges")


@invariant(
    "sizes",
    needs={
        "request of more than 512 rows",
        "more than 2^22 elements",
        "cached tap",
        "two requests",
        "negative slot inside a request",
    },
    edges=tile_edges_reached,
)
def long_forwards(ops: Any, case: Forward) -> None:
    """Prompts of hundreds to thousands of rows beside other requests give outputs and cache of the reference.

    Bit for bit. Candidates that choose tiles by rows or elements choose others there than for small cases.
    """
    __tracebackhide__ = True
    _as_reference(ops, "sizes.long_forwards", case)


@invariant("sizes", needs={"rows beyond 65,535 tiles of 8", "cached tap"}, edges=tile_edges_reached)
def many_rows(ops: Any, case: Forward) -> None:
    """More rows than 65,535 tiles of 8, once a run, give outputs and cache of the reference, bit for bit."""
    __tracebackhide__ = True
    _as_reference(ops, "sizes.many_rows", case)


@invariant(
    "sizes",
    operator="sconv_seq_metadata",
    needs={"rows beyond 65,535 tiles of 8", "more requests than 16 bits"},
    edges=metadata_edges_reached,
)
def metadata_many_rows(ops: Any, case: Metadata) -> None:
    """More rows than 65,535 tiles of 8, and more requests than 16 bits count, give the searchsorted construction."""
    __tracebackhide__ = True
    compare(ops, case, "sizes.metadata_many_rows")
