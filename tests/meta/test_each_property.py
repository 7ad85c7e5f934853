"""Each further property holds for the plain candidate, and is violated by a fault of its own."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from properties import strategies
from properties.contract import FUSED_SCONV
from properties.invariants import batch, layout, schedule, streams, values
from tests.meta.candidates import plain
from tests.meta.candidates.faults import faulty
from tests.meta.drawing import first_violation
from tests.meta.test_faults import bound

DTYPE = "bf16"
FORWARDS = strategies.forwards(DTYPE, ("normal",))
SCHEDULES = strategies.schedules(DTYPE, (None,))


def changed(before: Callable[..., dict[str, Any]]) -> SimpleNamespace:
    """The plain candidate with its arguments changed first."""

    def fused_sconv(*args: Any, **kwargs: Any) -> Any:
        given_by_name = {**dict(zip(FUSED_SCONV, args, strict=False)), **kwargs}
        return plain.fused_sconv(**{**given_by_name, **before(**given_by_name)})

    return SimpleNamespace(fused_sconv=fused_sconv, sconv_seq_metadata=plain.sconv_seq_metadata)


def contiguous_x(x: torch.Tensor, **rest: Any) -> dict[str, Any]:
    """Takes the rows of x to follow one another."""
    return {"x": x.as_strided(x.shape, (x.shape[1], 1))}


def contiguous_weight(weight: torch.Tensor, **rest: Any) -> dict[str, Any]:
    """Takes the weight to be contiguous."""
    return {"weight": weight.as_strided(weight.shape, (weight.shape[1], 1))}


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


def copied_cache(cache: torch.Tensor, **rest: Any) -> dict[str, Any]:
    """Works on a contiguous copy where the cache is not contiguous inside a page."""
    return {"cache": cache if cache[0].is_contiguous() else cache.contiguous()}


def one_request(query_start: torch.Tensor, **rest: Any) -> dict[str, Any]:
    """Takes all rows for one request."""
    return {"query_start": torch.zeros_like(query_start)}


def second_head_scaled(weight: torch.Tensor, ws: int, **rest: Any) -> dict[str, Any]:
    """Scales the weights of every head but the first."""
    weight = weight.clone()
    weight[ws:] *= 2
    return {"weight": weight}


def logical_blocks(block_table: torch.Tensor, cache: torch.Tensor, **rest: Any) -> dict[str, Any]:
    """Shifts every physical block by one."""
    return {"block_table": (block_table + 1) % len(cache)}


def adds_what_was_there() -> SimpleNamespace:
    """Adds to the output what the row's slot held before."""

    def fused_sconv(x: Any, weight: Any, cache: Any, positions: Any, block_table: Any, seq_idx: Any,
                    slot_mapping: Any, query_start: Any, off_s: int, ws: int, block_size: int,
                    activation: Any = None, use_residual: bool = True) -> Any:  # fmt: skip  # as in the contract
        slots = slot_mapping.clamp_min(0)
        held = cache[slots // block_size, :, slots % block_size, off_s : off_s + ws].reshape(x.shape).clone()
        out = plain.fused_sconv(x, weight, cache, positions, block_table, seq_idx, slot_mapping, query_start,
                                off_s, ws, block_size, activation, use_residual)  # fmt: skip  # as above
        return out + held.nan_to_num()

    return SimpleNamespace(fused_sconv=fused_sconv, sconv_seq_metadata=plain.sconv_seq_metadata)


CASES: list[tuple[Any, Any, Callable[[], Any]]] = [
    (schedule.any_cut, SCHEDULES, lambda: faulty("window_lost")),
    (schedule.windows, SCHEDULES, lambda: faulty("window_lost")),
    (schedule.rollback, SCHEDULES, lambda: faulty("window_lost")),
    (schedule.preempted, SCHEDULES, lambda: faulty("window_lost")),
    (schedule.repeated, SCHEDULES, adds_what_was_there),
    (batch.neighbours, FORWARDS, lambda: changed(one_request)),
    (batch.block_names, FORWARDS, lambda: changed(logical_blocks)),
    (batch.block_size, FORWARDS, lambda: faulty("block_size_is_W")),
    (batch.table_and_pages, FORWARDS, lambda: faulty("contiguous_table")),
    (batch.shared_prefix, FORWARDS, lambda: changed(logical_blocks)),
    (batch.head_shards, FORWARDS, lambda: changed(second_head_scaled)),
    (batch.rows_without_slots, FORWARDS, lambda: faulty("pad_is_no_tap")),
    (layout.weight_strides, FORWARDS, lambda: changed(contiguous_weight)),
    (layout.cache_strides, FORWARDS, lambda: changed(copied_cache)),
    (layout.row_stride_of_x, FORWARDS, lambda: changed(contiguous_x)),
    (layout.alignment, FORWARDS, lambda: changed(aligned_x)),
    (streams.any_order, strategies.streams(DTYPE), lambda: faulty("off_s_ignored_on_write")),
    (values.nan_containment, FORWARDS, lambda: faulty("masked_by_product")),
    (values.nan_containment, FORWARDS, lambda: changed(finite_x)),
    (values.nan_containment, FORWARDS, lambda: changed(finite_cache)),
    (values.weight_dtypes, strategies.mixed_forwards(DTYPE), lambda: changed(rounded_weight)),
    (values.unbiased, FORWARDS, lambda: faulty("truncates")),
]


@pytest.fixture(autouse=True)
def own_counts(monkeypatch):
    """Keeps what faults violate out of the run's own verdicts."""
    monkeypatch.setattr("properties.tally.COUNTS", {})


@pytest.mark.parametrize(("invariant", "cases", "fault"), CASES, ids=[one.entry.name for one, _, _ in CASES])
def test_each_property_has_a_fault_that_violates_it(invariant, cases, fault):
    """Holds for the plain candidate, and names itself in the violation of the faulty one."""
    assert first_violation(bound("plain", plain), invariant, cases, examples=60) is None
    found = first_violation(bound("faulty", fault()), invariant, cases, examples=60)
    assert found is not None
    assert found.property_name == invariant.entry.name
