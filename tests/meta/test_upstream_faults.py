"""The upstream kernel with one line changed is judged violated, without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from properties import cases, size_strategies, strategies
from properties.candidate import load
from properties.contract import ACTIVATIONS
from properties.engines import choose
from properties.invariants import cache, hazards, metadata, sizes, values
from properties.replay import replay
from properties.verdict import Violation
from tests.meta.drawing import first_violation

UPSTREAM = Path(__file__).parents[3] / "shared/upstream/inkling_sconv.py"
pytestmark = pytest.mark.skipif(not UPSTREAM.is_file(), reason=f"judges {UPSTREAM}, which is not here")

NUMBERS = strategies.forwards("bf16", activations=ACTIVATIONS)
PROPERTIES: dict[Any, Any] = {
    values.dense_exact: strategies.forwards("bf16"),
    values.one_hot_taps: strategies.forwards("bf16", ("codes",), residuals=(False,)),
    cache.stores_inputs: NUMBERS,
    cache.write_frame: NUMBERS,
    cache.read_frame: NUMBERS,
    cache.table_frame: NUMBERS,
    sizes.far_blocks: size_strategies.far_forwards("bf16"),
    metadata.searchsorted: strategies.metadata(),
    hazards.fused_sconv: NUMBERS,
    hazards.sconv_seq_metadata: strategies.metadata(),
}

# name: (what the line is, what it becomes, groups of which at least one must be violated)
FAULTS = {
    "tap order reversed": ("iw * stride_w_w", "(W - 1 - iw) * stride_w_w", {"values"}),
    "block_size replaced by W": ("        block_size,\n        W=W,", "        W,\n        W=W,", {"values", "cache"}),
    "PAD rows stored to slot 0": (
        "tl.store(dst, xv, mask=tc_mask & valid[:, None])", "tl.store(dst, xv, mask=tc_mask)", {"cache", "hazards"},
    ),
    "query_start compared off by one": ("(row >= qstart)", "(row > qstart)", {"values"}),
    "a lost mask": (
        "pos = tl.load(pos_ptr + toff, mask=t_mask, other=0)", "pos = tl.load(pos_ptr + toff)", {"hazards"},
    ),
    "a lost mask in the metadata": (
        "tl.where(actual, lo, 0), mask=padded)", "tl.where(actual, lo, 0))", {"metadata", "hazards"},
    ),
    "the residual dropped": ("        acc += xv.to(tl.float32)", "        acc += 0.0", {"values"}),
    "the stream offset ignored on read": (
        "+ cd[None, :] * stride_c_d\n        )\n        cv", "+ (coff % WS)[None, :]\n        )\n        cv",
        {"values", "cache"},
    ),
    "32-bit block offsets": ("other=0\n        ).to(tl.int64)", "other=0\n        )", {"sizes", "hazards"}),
    "one binary-search step fewer": ("(num_reqs - 1).bit_length()", "(num_reqs - 1).bit_length() - 1", {"metadata"}),
    "taps re-read from the cache": ("row < qstart)", "row < toff)", {"hazards"}),
    "tiles that overlap by one row": ("toff = pid_t * BT +", "toff = pid_t * (BT - 1) +", {"hazards"}),
}  # fmt: skip  # one fault a line reads as the table it is


# What the README says of the unchanged file: property, and its smallest case.
FINDINGS = (
    (
        "sizes.far_table",
        "Forward(geometry=Geometry(W=2), requests=(Request(), Request(), Request(start=1)), "
        "layout=Layout(table_gap=2**30))",
    ),
    ("sizes.far_heads", "Forward(geometry=Geometry(H=3), layout=Layout(head_stride=2**30))"),
    ("sizes.far_weights", "Forward(geometry=Geometry(W=4), layout=Layout(weight='far'))"),
)


@pytest.fixture(autouse=True)
def own_counts(monkeypatch):
    """Keeps what faults violate out of the run's own verdicts."""
    monkeypatch.setattr("properties.tally.COUNTS", {})


@pytest.mark.parametrize(("name", "case"), FINDINGS, ids=[name for name, _ in FINDINGS])
def test_findings_in_the_unchanged_file(name, case):
    """Violates what the README says, by the case that it prints, which sconv holds."""
    assert f'`{name} "{case}"`' in (Path(__file__).parents[2] / "README.md").read_text()
    replay("sconv", name, eval(case, vars(cases)), "ttir")
    with pytest.raises(Violation, match=name):
        replay(str(UPSTREAM), name, eval(case, vars(cases)), "ttir")


@pytest.mark.parametrize("name", FAULTS)
def test_one_changed_line_is_violated(name, tmp_path):
    """Changes exactly one place, and finds a violation in the group that should see it."""
    old, new, groups = FAULTS[name]
    source = UPSTREAM.read_text()
    assert source.count(old) == 1
    path = tmp_path / "changed.py"
    path.write_text(source.replace(old, new))
    ops = choose("ttir").bind(load(str(path)))
    seen = set()
    for invariant in sorted(PROPERTIES, key=lambda one: one.entry.group not in groups):
        violation = first_violation(ops, invariant, PROPERTIES[invariant], examples=100)
        if violation is not None:
            seen.add(violation.property_name.split(".")[0])
        if seen & groups:
            return
    pytest.fail(f"violated: {sorted(seen) or 'nothing'}, but should be one of {sorted(groups)}")
