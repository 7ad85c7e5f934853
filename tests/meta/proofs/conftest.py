"""What the tests of the proofs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from properties.candidate import load
from properties.cases import Geometry

SMALL = Geometry(H=2, ws=3, N=3, W=4, off_s=4, D=9)  # a channel tile with lanes to spare, N other than W
FEW_TAPS = replace(SMALL, W=3, N=2)  # the order of a sum of two taps does not matter


@pytest.fixture
def verdict_of() -> Callable[..., Any]:
    """`verdict_of(target, obligation, geometry, **more)`: one obligation of a candidate's usual program."""
    from properties.proofs.forward import launch
    from properties.proofs.prove import OBLIGATIONS, Variant, prove
    from properties.proofs.world import World

    by_name = {one.name: one for one in OBLIGATIONS}

    def judged(target: str | Path, obligation: str, geometry: Geometry = SMALL, **more: Any) -> Any:
        operator = load(str(target)).operators["fused_sconv"]
        world = World(geometry, **more)
        return prove(str(target), Variant(world, launch(operator, world)), by_name[obligation])

    return judged
