"""A hazard's script: of all that the machine tells it shows the hazard that it is about, and counts the others."""

from __future__ import annotations

import pytest

from properties.candidate import load
from properties.cases import Forward, Geometry
from properties.engines import choose
from properties.invariants import hazards
from properties.reproducer import reproduce, told_hazards
from properties.reproducer.making import run
from properties.verdict import Violation
from tests.meta.test_explain_causes import on_upstream
from tests.meta.upstream_faults import UPSTREAM

AT = "k.py:135 in kernel: cv = tl.load(cbase)"
PRINTED = f"""ran to its end; what the machine tells follows
out-of-bounds read: pos_ptr element 1; program (0, 0, 0)
  k.py:85 in kernel: pos = tl.load(pos_ptr + toff)
out-of-bounds read: cache_ptr element 70; program (0, 0, 0)
  {AT}
"""


def test_a_hazard_of_another_line_is_not_the_one_told():
    """Takes for its own what was told so, or of its kind at its line, and nothing from elsewhere."""
    told = "out-of-bounds read: cache_ptr element 70"
    assert told_hazards.own(PRINTED, told, AT) == told_hazards.every(PRINTED)[1]
    assert told_hazards.own(PRINTED, "out-of-bounds read: cache_ptr element 9", AT) is None
    assert told_hazards.own(PRINTED, "out-of-bounds read: cache_ptr element 9", AT, loosely=True) is not None
    assert told_hazards.own(PRINTED, "out-of-bounds write: cache_ptr element 70", AT, loosely=True) is None
    assert told_hazards.own(PRINTED, told, "k.py:99 in kernel: other", loosely=True) is None
    lines, beside = told_hazards.shown(PRINTED, told, AT)
    assert (lines[1].strip(), beside) == (AT, ", beside 1 other hazard")


@on_upstream
@pytest.mark.parametrize("dropped", [("seq_idx", "pos"), ("pos",)])
def test_the_head_of_a_script_is_about_its_hazard(dropped, tmp_path):
    """Shows in the script's head the hazard of the violation, at its line, and how many others were told beside it."""
    source = UPSTREAM.read_text()
    for name in dropped:
        line = f"tl.load({name}_ptr + toff, mask=t_mask, other=0)"
        assert source.count(line) == 1
        source = source.replace(line, f"tl.load({name}_ptr + toff)")
    path = tmp_path / "kernel.py"
    path.write_text(source)
    ops = choose("ttir").bind(load(str(path)))
    with pytest.raises(Violation) as caught:
        hazards.fused_sconv(ops, Forward(Geometry(W=2)))
    found = caught.value
    script = reproduce(ops, found)
    head = script.split('"""')[1]
    told = str(found.got).removeprefix("has a hazard: ").split(";")[0]
    beside = ", beside 1 other hazard" if len(dropped) == 2 else ""
    assert f"it printed{beside}:\n\n    {told}" in head
    assert f"\n      {found.at[:60]}" in head
    _, printed = run(script, ops, "repro.py")
    assert len(told_hazards.every(printed)) == len(dropped)
