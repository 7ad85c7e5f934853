"""The geometries that proofs are made at: adversaries first, then the models' widest stream."""

from __future__ import annotations

from properties.cases import Geometry

SMALL = (
    Geometry(H=1, ws=2, N=2, W=3, off_s=1, D=4),
    Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8),
    Geometry(H=2, ws=4, N=3, W=4, off_s=5, D=11),
)
REAL = {
    "inkling-global": Geometry(H=8, ws=768, N=8, W=4, off_s=1024, D=2048),
    "inkling-local": Geometry(H=16, ws=384, N=8, W=4, off_s=640, D=1024),
    "inkling-small": Geometry(H=8, ws=512, N=8, W=4, off_s=768, D=2048),
}
