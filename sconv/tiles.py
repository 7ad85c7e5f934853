"""How a forward is cut into programs, from measurements (benchmarks/README.md)."""

from __future__ import annotations

from typing import NamedTuple

MIN_DIVIDING_TILE = 64  # channels; below this, wasted lanes cost less than the extra programs


class Tile(NamedTuple):
    """What one program owns: `rows` rows of `channels` channels of two bytes, by `warps` warps.

    steady: rows whose taps are all in x are kept in registers while they are taps; the others are done
        `at_once` at a time.
    """

    rows: int
    at_once: int
    channels: int
    warps: int
    steady: bool


class Tiles(NamedTuple):
    """The tiles of a class of devices: `few` below `many_from` elements of a forward, from there on `many`."""

    few: Tile
    many: Tile
    many_from: int


# Measured on an H200 (sm_90). Small forwards spread over the device; in large ones bytes in flight count, so that
# registers are spent on steady rows.
HOPPER = Tiles(
    few=Tile(rows=2, at_once=2, channels=128, warps=1, steady=False),
    many=Tile(rows=8, at_once=1, channels=256, warps=1, steady=True),
    many_from=2**22,
)
# gfx942 and gfx950: a warp has twice the lanes, which takes twice the channels to load 128 bits each. Not measured.
CDNA = Tiles(
    few=HOPPER.few._replace(channels=2 * HOPPER.few.channels),
    many=HOPPER.many._replace(channels=2 * HOPPER.many.channels),
    many_from=HOPPER.many_from,
)
BY_CAPABILITY = {(9, 0): HOPPER, (9, 4): CDNA, (9, 5): CDNA}
DEFAULT = HOPPER  # not measured elsewhere


def choose(rows: int, channels: int, itemsize: int, capability: tuple[int, int] | None) -> Tile:
    """The tile for a forward of so many rows and channels of `itemsize` bytes; without a capability, on a host."""
    tiles = BY_CAPABILITY.get(capability, DEFAULT) if capability else DEFAULT
    # On a host only judges run these kernels: there the tiles take turns, so that each is judged.
    is_large = rows % 2 == 0 if capability is None else rows * channels >= tiles.many_from
    return fitted(tiles.many if is_large else tiles.few, channels, itemsize)


def fitted(tile: Tile, channels: int, itemsize: int) -> Tile:
    """The tile with as many channels as divide all of them, where enough do: no lane is idle then."""
    most = max(1, tile.channels * 2 // itemsize)  # the registers of a tile hold as many bytes of every dtype
    divisor = channels & -channels
    whole = divisor if divisor >= MIN_DIVIDING_TILE else 1 << (channels - 1).bit_length()
    return tile._replace(channels=min(whole, most))
