"""Pinned cases: sizes that draws reach rarely or never, judged in every run."""

from __future__ import annotations

from properties.cases import Forward, Geometry, Metadata, Request


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
