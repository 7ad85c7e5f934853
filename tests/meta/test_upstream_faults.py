"""The upstream kernel with one line changed is judged violated, without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from properties import cases
from properties.candidate import load
from properties.engines import choose
from properties.replay import replay
from properties.verdict import Violation
from tests.meta.judging_table import table, violation
from tests.meta.upstream_faults import UPSTREAM, UPSTREAM_FAULTS, changed

pytestmark = pytest.mark.skipif(not UPSTREAM.is_file(), reason=f"judges {UPSTREAM}, which is not here")

DTYPE = "bf16"
# Faults that no comparison of values sees, by the property that they show, and groups that hold beside it.
HAZARDS_ALONE = {
    "hazards.fused_sconv": ("a lost mask",),
    "hazards.sconv_seq_metadata": ("metadata of dead lanes read beyond the array",),
}
OTHERS = 6  # cases of each other property


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


@pytest.mark.parametrize(("name", "case"), FINDINGS, ids=[name for name, _ in FINDINGS])
def test_findings_in_the_unchanged_file(name, case):
    """Violates what the README says, by the case that it prints, which sconv holds."""
    assert f'`{name} "{case}"`' in (Path(__file__).parents[2] / "README.md").read_text()
    replay("sconv", name, eval(case, vars(cases)), "ttir")
    with pytest.raises(Violation, match=name):
        replay(str(UPSTREAM), name, eval(case, vars(cases)), "ttir")


@pytest.mark.parametrize("name", UPSTREAM_FAULTS)
def test_one_changed_line_is_violated(name, tmp_path):
    """Changes exactly one place, and finds a violation in the group that should see it."""
    groups = UPSTREAM_FAULTS[name][2]
    ops = choose("ttir").bind(load(str(changed(name, tmp_path))))
    seen = set()
    for property_name, judged in sorted(table(DTYPE).items(), key=lambda one: one[1].group not in groups):
        if violation(ops, property_name, DTYPE, count=100):
            seen.add(judged.group)
        if seen & groups:
            return
    pytest.fail(f"violated: {sorted(seen) or 'nothing'}, but should be one of {sorted(groups)}")


@pytest.mark.parametrize(("property_name", "name"), [(p, name) for p, names in HAZARDS_ALONE.items() for name in names])
def test_hazards_alone(property_name, name, tmp_path):
    """Violates the property of the hazards group, and none of the groups that judge values and memory."""
    ops = choose("ttir").bind(load(str(changed(name, tmp_path))))
    found = violation(ops, property_name, DTYPE, count=60)
    assert found is not None
    assert found.property_name == property_name
    others = [other for other, judged in table(DTYPE).items() if judged.group in ("values", "cache", "metadata")]
    assert [other for other in others if violation(ops, other, DTYPE, OTHERS)] == []
