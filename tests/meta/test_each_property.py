"""Each property holds for the plain candidate, and has a fault that its group alone sees."""

from __future__ import annotations

import pytest

from properties import catalogue
from tests.meta.candidates import plain
from tests.meta.candidates.faults import FAULTS, faulty
from tests.meta.judging_table import bound, table, violation

# The fault that shows what a property is for; hazards have theirs in test_upstream_faults.py, for they need an engine
# that sees them.
SHOWN_BY = {
    "batch.block_names": "block_names_turn_sums",
    "batch.block_size": "block_size_turns_sums",
    "batch.head_shards": "heads_turn_sums",
    "batch.neighbours": "neighbours_turn_sums",
    "batch.rows_without_slots": "pads_turn_sums",
    "batch.shared_prefix": "sharing_turns_sums",
    "batch.table_and_pages": "table_stride_turns_sums",
    "cache.process_frame": "draws_random_numbers",
    "cache.read_frame": "gap_times_zero",
    "cache.stores_inputs": "first_request_stored",
    "cache.table_frame": "every_entry_checked",
    "cache.write_frame": "slots_normalised",
    "layout.cache_strides": "copied_cache",
    "layout.row_stride_of_x": "contiguous_x",
    "layout.weight_strides": "weight_strides_turn_sums",
    "metadata.process_frame": "changes_default_dtype",
    "metadata.refuses": "guard_turned_round",
    "metadata.searchsorted": "stale_tail",
    "schedule.any_cut": "short_chunk_loses_window",
    "schedule.preempted": "table_remembered",
    "schedule.repeated": "skips_what_is_stored",
    "schedule.rollback": "drafts_kept",
    "schedule.windows": "short_chunk_loses_window",
    "sizes.far_blocks": "far_pages_wrap",
    "streams.any_order": "offset_remembered",
    "values.dense_bound": "scaled_weights",
    "values.dense_exact": "rounds_twice",
    "values.nan_containment": "channels_times_zero",
    "values.one_hot_taps": "taps_reversed",
    "values.unbiased": "truncates",
}
# Their faults are of other kinds: test_baseline, test_graph_faults, test_lives, test_sizes_caught, test_extremes, and
# those of proofs/faults.py.
ELSEWHERE = {
    "baseline",
    "graphs",
    "history",
    "proof",
    "layout.alignment",
    "sizes.far_heads",
    "sizes.far_rows",
    "sizes.far_table",
    "sizes.far_weights",
    "sizes.long_forwards",
    "sizes.many_rows",
    "sizes.metadata_many_rows",
    "sizes.metadata_tile_edges",
    "sizes.tile_edges",
    "values.weight_dtypes",
}
OWN, OTHERS = 60, 8  # cases of the property itself, and of each property of the other groups


def test_every_property_has_its_fault():
    """Names a fault for each property, of the property's own group."""
    entries = [entry for entry in catalogue.entries() if not {entry.group, entry.name} & ELSEWHERE]
    seen_on_the_host = {entry.name for entry in entries if not entry.needs_hazards}
    assert set(SHOWN_BY) == seen_on_the_host
    assert {name: FAULTS[fault].group for name, fault in SHOWN_BY.items()} == {n: n.split(".")[0] for n in SHOWN_BY}


@pytest.mark.parametrize("name", table("bf16"))
def test_no_property_needs_luck(name):
    """Reaches all that a property needs by its pinned cases: by draws alone, one run in four missed something."""
    judged = table("bf16")[name]
    entry = judged.invariant.entry
    reached = [entry.edges(case) for case in judged.pinned]
    assert entry.needs - frozenset().union(*reached) == set()


@pytest.mark.parametrize("name", SHOWN_BY)
def test_the_plain_candidate_holds(name):
    """Accuses a correct candidate of nothing."""
    assert violation(bound("plain", plain), name, FAULTS[SHOWN_BY[name]].dtype, OWN) is None


@pytest.mark.parametrize("name", SHOWN_BY)
def test_its_fault_violates_it_and_no_other_group(name):
    """Is violated by its fault, and named in the violation; the properties of all other groups hold."""
    fault = FAULTS[SHOWN_BY[name]]
    found = violation(bound(fault.name, faulty(fault.name)), name, fault.dtype, OWN)
    assert found is not None
    assert found.property_name == name
    judged = table(fault.dtype)
    others = [other for other in judged if not {judged[other].group, other} & (ELSEWHERE | {fault.group})]
    assert [
        other for other in others if violation(bound(fault.name, faulty(fault.name)), other, fault.dtype, OTHERS)
    ] == []
