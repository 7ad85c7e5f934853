"""Correct kernels give PyTorch's results and no hazard, over thousands of generated launches."""

from __future__ import annotations

import random

import pytest

from properties.ttir import Machine

from .family import FAMILY

# 10 kernels of 210 launches each: more than the 2,000 that issue 3 asks for
LAUNCHES = 210


@pytest.mark.parametrize("case", FAMILY, ids=lambda case: case.__name__)
def test_family(case):
    """A correct kernel matches PyTorch and shows no hazard on any generated launch."""
    rng = random.Random(case.__name__)
    with Machine() as machine:
        for _ in range(LAUNCHES):
            case(rng)
            assert machine.hazards == [], "\n".join(map(str, machine.hazards))
    assert len(machine.launches) == LAUNCHES


@pytest.mark.parametrize("case", FAMILY, ids=lambda case: case.__name__)
def test_without_checks(case):
    """The unchecked machine computes the same."""
    rng = random.Random(case.__name__)
    with Machine(checks=False):
        for _ in range(5):
            case(rng)
