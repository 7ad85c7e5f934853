"""Each copy of the plain candidate with one fault is caught, by the group that should, and shrinks to a small case."""

from __future__ import annotations

import pytest

from tests.meta.candidates.faults import FAULTS, Fault, faulty
from tests.meta.judging_table import bound, table, violation
from tests.meta.shrinking import MOST_REQUESTS, first_of


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_each_fault_is_caught(fault: Fault):
    """Finds a violation in the group that the fault belongs to."""
    ops = bound(fault.name, faulty(fault.name))
    group = [name for name, judged in table(fault.dtype).items() if judged.group == fault.group]
    found = next(filter(None, (violation(ops, name, fault.dtype, count=60) for name in group)), None)
    assert found, f"{fault.name} ({fault.summary}) was not caught by {fault.group}"
    assert found.property_name.split(".")[0] == fault.group


# `python -m tests.meta.shrinking` tells it of every fault; these are quick, and one of each kind of case.
@pytest.mark.parametrize(
    "name",
    ["taps_reversed", "residual_dropped", "window_lost", "off_s_ignored_on_read", "only_minus_one_is_pad",
     "search_one_step_short", "drafts_kept"],
)  # fmt: skip  # a list of words reads better in rows
def test_shrinks_to_a_few_rows(name):
    """Finds within the time that is promised a case of at most two requests and W + 2 rows."""
    fault = FAULTS[name]
    found = first_of(bound(name, faulty(name)), {fault.group}, fault.dtype)
    assert found is not None
    assert found.requests <= MOST_REQUESTS
    assert found.rows <= found.most_rows
