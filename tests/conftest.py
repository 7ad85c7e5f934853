"""The fixture through which a test judges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from properties.engines.base import Ops
from tests.judging import DTYPES, dtype_or_leave, judge


@pytest.fixture(params=DTYPES)
def dtype(request: pytest.FixtureRequest, ops: Ops) -> str:
    """Each dtype of the contract in turn."""
    return dtype_or_leave(ops, request.param)


@pytest.fixture
def judged(request: pytest.FixtureRequest, ops: Ops) -> Callable[..., None]:
    """`judged(invariant, strategy, *pinned_cases)`: one property over as many cases as the profile says."""
    return partial(judge, request, ops)
