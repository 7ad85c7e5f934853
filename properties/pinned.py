"""Pinned cases: sizes that draws reach rarely or never, judged in every run."""

from __future__ import annotations

from properties.cases import Forward, Geometry, Metadata, Request
from properties.tiles import row_edges, tile_geometries


def forwards(dtype: str) -> list[Forward]:
    """More requests than a byte counts, many rows, an empty request before cached taps, a deep context."""
    tiny = Geometry(W=4, N=4, dtype=dtype)
    two_heads = Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8, dtype=dtype)
    return [
        Forward(tiny, tuple(Request(start=3 + index % 9) for index in range(300)), pads=20),
        Forward(tiny, (Request(length=700), Request(start=5, length=801)), block_seed=1),
        Forward(two_heads, (Request(start=5, length=0), Request(start=6, length=2), Request(start=9))),
        Forward(two_heads, (Request(start=2**17 + 2, length=3), Request(start=65541)), block_seed=1),
    ]


def metadata() -> list[Metadata]:
    """Thousands of requests, and more rows than a first axis of 65,535 would hold."""
    return [
        Metadata(lengths=(1, 0, 2, 1, 1), repeat=205, padding=7, slack=3),
        Metadata(lengths=(1,), repeat=4097, padding=1, slack=1),
        Metadata(lengths=(3, 70_000, 0, 2), padding=300, slack=5),
    ]


def extremes(dtype: str) -> list[Forward]:
    """Zeros, subnormals and the largest numbers, where a case in six of those drawn has them."""
    geometry = Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8, dtype=dtype)
    requests = (Request(start=5, length=9), Request(length=4))
    return [
        Forward(geometry, requests, contents=kind, use_residual=use)
        for kind in ("tiny", "huge")
        for use in (False, True)
    ]


def many_rows() -> list[Forward]:
    """More rows than 65,535 tiles of 8 in a second or third axis of a grid, on a geometry that makes them cheap."""
    tiny = Geometry(N=64, W=2)
    return [Forward(tiny, (Request(start=70, length=300_000), Request(length=224_281), Request(start=3)), pads=7)]


def metadata_many_rows() -> list[Metadata]:
    """The same for the metadata, and more requests than 16 bits count."""
    return [Metadata(lengths=(3, 524_281, 0, 5), padding=9, slack=3), Metadata(lengths=(1,), repeat=65_537, padding=1)]


def tile_forwards(tiles: tuple[int, ...]) -> list[Forward]:
    """Each number of rows and each number of channels around tiles once."""
    tiny = Geometry(N=4, W=2)
    halves = [(T // 3, T - T // 3) for T in row_edges(tiles)]
    rows = [Forward(tiny, (Request(length=some), Request(start=5, length=rest))) for some, rest in halves]
    return rows + [Forward(geometry, (Request(start=2, length=3), Request())) for geometry in tile_geometries(tiles)]


def tile_metadata(tiles: tuple[int, ...]) -> list[Metadata]:
    """Each number of rows, of padded rows and of requests around tiles once."""
    edges = row_edges(tiles)
    rows = [Metadata(lengths=(size // 3, 0, size - size // 3), padding=0) for size in edges]
    padded = [Metadata(lengths=(1,), padding=size - 1, slack=1) for size in edges]
    return rows + padded + [Metadata(lengths=(1,), repeat=size) for size in edges]
