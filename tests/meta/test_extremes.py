"""Numbers at the ends of the formats: what they are, and faults that only they show."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from properties import strategies
from properties.contents import extremes
from properties.contract import DTYPES, FUSED_SCONV
from properties.invariants import layout, values
from tests.meta.candidates import plain
from tests.meta.candidates.faults import faulty
from tests.meta.drawing import first_violation
from tests.meta.judging_table import bound


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_the_kinds_hold(dtype):
    """Has both zeros, subnormals and normals of both signs, and the largest numbers."""
    numbers = torch.finfo(DTYPES[dtype])
    tiny = extremes("tiny", np.random.default_rng(0), (40, 40), dtype)
    zeros = tiny[tiny == 0].signbit()
    assert 0 < int(zeros.sum()) < len(zeros)
    for some in (tiny[(tiny != 0) & (tiny.abs() < numbers.tiny)], tiny[tiny.abs() >= numbers.tiny]):
        assert int((some < 0).sum()) > 100
        assert int((some > 0).sum()) > 100
    assert float(tiny.abs().max()) < 4 * numbers.tiny
    huge = extremes("huge", np.random.default_rng(0), (40, 40), dtype)
    assert float(huge.max()) == numbers.max
    assert float(huge.min()) == -numbers.max
    assert float(huge.abs().min()) > 0.9 * numbers.max


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("fault", "kind"), [("flushes_subnormals", "tiny"), ("saturates", "huge")])
def test_a_fault_of_each_end(fault, kind, dtype):
    """Sees it in every dtype, among numbers of its kind; a correct candidate is not accused."""
    cases = strategies.forwards(dtype, (kind,))
    assert first_violation(bound("plain", plain), values.dense_bound, cases, 40) is None
    assert first_violation(bound(fault, faulty(fault)), values.dense_bound, cases, 40) is not None


def test_partial_sums_that_only_fp32_holds():
    """Sees fp16 sums overflow whose results would not."""
    cases = strategies.forwards("fp16", ("huge",), residuals=(False,))
    found = first_violation(bound("faulty", faulty("sums_in_dtype")), values.dense_bound, cases, 40)
    assert found is not None
    assert "inf" in found.headline or "NaN" in found.headline


def changed(before: Callable[..., dict[str, Any]]) -> SimpleNamespace:
    """The plain candidate with some of its arguments changed first."""

    def fused_sconv(*args: Any, **kwargs: Any) -> Any:
        given_by_name = {**dict(zip(FUSED_SCONV, args, strict=False)), **kwargs}
        return plain.fused_sconv(**{**given_by_name, **before(**given_by_name)})

    return SimpleNamespace(fused_sconv=fused_sconv, sconv_seq_metadata=plain.sconv_seq_metadata)


def aligned_x(x: torch.Tensor, **rest: Any) -> dict[str, Any]:
    """Takes x to begin at a multiple of 16 bytes, as a vector load does."""
    return {"x": x.as_strided(x.shape, x.stride(), x.storage_offset() // 8 * 8)}


def rounded_weight(x: torch.Tensor, weight: torch.Tensor, **rest: Any) -> dict[str, Any]:
    """Rounds the weight to the dtype of x."""
    return {"weight": weight.to(x.dtype)}


def finite_x(x: torch.Tensor, **rest: Any) -> dict[str, Any]:
    """Takes the largest finite numbers for infinities, in x."""
    return {"x": torch.where(x.isinf(), torch.finfo(x.dtype).max * x.sign(), x)}


def finite_cache(cache: torch.Tensor, **rest: Any) -> dict[str, Any]:
    """Takes 0 for NaN, in the cache."""
    cache[cache.isnan()] = 0
    return {"cache": cache}


@pytest.mark.parametrize(
    ("invariant", "cases", "before"),
    [
        (layout.alignment, strategies.forwards("bf16", ("normal",)), aligned_x),
        (values.weight_dtypes, strategies.mixed_forwards("bf16"), rounded_weight),
        (values.nan_containment, strategies.forwards("bf16", ("normal",)), finite_x),
        (values.nan_containment, strategies.forwards("bf16", ("normal",)), finite_cache),
    ],
    ids=["alignment", "weight_dtypes", "infinity in x", "NaN in the cache"],
)
def test_a_changed_argument_is_seen(invariant, cases, before):
    """Sees a candidate that changes an argument first; the same candidate without the change holds."""
    assert first_violation(bound("plain", plain), invariant, cases, 40) is None
    assert first_violation(bound("changed", changed(before)), invariant, cases, 40) is not None
