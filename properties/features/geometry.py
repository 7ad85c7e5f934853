"""What a geometry has: sizes, and each class of a number that Triton specialises."""

from __future__ import annotations

from properties.cases import Geometry
from properties.features import Facts


def geometry_features(geometry: Geometry) -> Facts:
    """What a geometry has; each kind of a number that a kernel may be specialised for."""
    N, W, C, D = geometry.N, geometry.W, geometry.C, geometry.D
    return {
        **{f"W of {taps}": taps == W for taps in range(1, 7)},
        **{f"N of {tokens}": tokens == N for tokens in (1, 2, 3, 4, 5, 7, 8, 16, 32, 64)},
        "N below W": N < W,
        "N of W": N == W,
        "N above W": N > W,
        "one head": geometry.H == 1,
        "heads that 2 ranks can share": geometry.H % 2 == 0,
        "heads that 8 ranks can share": geometry.H % 8 == 0,
        "heads that no two ranks can share": geometry.H > 1 and geometry.H % 2 == 1,
        "stream at offset 0": geometry.off_s == 0,
        "stream at another offset": geometry.off_s > 0,
        "other streams behind it": geometry.off_s + geometry.ws < D,
        "stream that fills its block rows": geometry.off_s + geometry.ws == D,
        "one channel": C == 1,
        "channels a multiple of 16": C % 16 == 0,
        "channels that are neither": C > 1 and C % 16 > 0,
        "channels beyond one tile of 256": C > 256,
        "a head's width across a tile's edge": geometry.H > 1 and C > 256 and 256 % geometry.ws > 0,
        "width of a real model": geometry.ws in (128, 384, 512, 768),
    }


def class_of(name: str, number: int) -> Facts:
    """The class of an argument that Triton specialises: 1, a multiple of 16, or any other number."""
    return {
        f"{name}: 1": number == 1,
        f"{name}: multiple of 16": number > 0 and number % 16 == 0,
        f"{name}: other": number > 1 and number % 16 > 0,
    }
