"""How a forward is cut into programs, from measurements (benchmarks/README.md)."""

from __future__ import annotations

from typing import NamedTuple

MIN_DIVIDING_TILE = 64  # channels; below this, wasted lanes cost less than the extra programs


class Tile(NamedTuple):
    """What one program owns: `rows` rows of `channels` channels, by `warps` warps.

    steady: rows whose taps are all in x are kept in registers while they are taps; the others are done
        `at_once` at a time.
    """

    rows: int
    at_once: int
    channels: int
    warps: int
    steady: bool


class Tiles(NamedTuple):
    """The tiles of a class of devices: few rows spread over the device, many rows stay in registers."""

    few: Tile
    many: Tile
    many_from: int  # rows from which `many` is faster


# Measured on an H200 (sm_90). Other devices get the same: bytes in flight, not instructions, bound these kernels.
HOPPER = Tiles(
    few=Tile(rows=2, at_once=2, channels=128, warps=1, steady=False),
    many=Tile(rows=12, at_once=2, channels=256, warps=1, steady=True),
    many_from=513,
)
BY_CAPABILITY: dict[tuple[int, int], Tiles] = {(9, 0): HOPPER}
DEFAULT = HOPPER


def choose(rows: int, channels: int, itemsize: int, capability: tuple[int, int] | None) -> Tile:
    """The tile for a forward of so many rows and channels of `itemsize` bytes on a device of that capability.

    Its channels are as many as divide all of them, where enough do: no lane is idle then.
    """
    tiles = BY_CAPABILITY.get(capability, DEFAULT) if capability else DEFAULT
    tile = tiles.many if rows >= tiles.many_from else tiles.few
    most = max(1, tile.channels * 2 // itemsize)  # the registers of a tile hold as many bytes of every dtype
    divisor = channels & -channels
    whole = divisor if divisor >= MIN_DIVIDING_TILE else 1 << (channels - 1).bit_length()
    return tile._replace(channels=min(whole, most))
