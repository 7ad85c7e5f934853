"""The fixtures through which a test judges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from properties.engines.base import Ops
from properties.tally import Property
from tests.judging import DTYPES, dtype_or_leave, judge
from tests.proving import prove


@pytest.fixture(params=DTYPES)
def dtype(request: pytest.FixtureRequest, ops: Ops) -> str:
    """Each dtype of the contract in turn."""
    return dtype_or_leave(ops, request.param)


@pytest.fixture
def judged(request: pytest.FixtureRequest, ops: Ops) -> Callable[..., None]:
    """`judged(invariant, strategy, *pinned_cases)`: one property over as many cases as the profile says."""
    return partial(judge, request, ops)


@pytest.fixture
def proved(request: pytest.FixtureRequest, ops: Ops) -> Callable[[Property, str], None]:
    """`proved(entry, dtype)`: one obligation, at the geometries that the profile says."""
    return partial(prove, request, ops)
