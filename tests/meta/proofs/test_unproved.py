"""Wrong kernels that were once proved: what each taught the evaluator."""

from __future__ import annotations

import pytest

pytest.importorskip("z3", reason="proofs need z3-solver, which is not installed")

from properties.candidate import load
from properties.proofs.prove import OBLIGATIONS, prove_all, variants
from properties.verdict import PROVED
from tests.meta.proofs.conftest import FEW_TAPS
from tests.meta.proofs.faults import Fault
from tests.meta.proofs.test_proofs import needs_upstream
from tests.meta.upstream_faults import UPSTREAM

# A second half that wraps, behind a first one that does not: the same operation at another lane.
SPLIT = """tc_mask = t_mask[:, None] & c_mask[None, :]
    lower, upper = (toff[:, None] + (tl.arange(0, 2) * 2147483000)[None, :]).split()
    is_first = tl.load(slot_ptr + toff, mask=lower < T, other=-1) >= 0
    is_second = tl.load(slot_ptr + toff, mask=(upper >= 0) & t_mask, other=-1) >= 0
    tc_mask = tc_mask & (is_first | is_second | t_mask)[:, None]
"""
WRONG = {
    # two activations that the contract takes for one lead to two programs, one of which is None's
    "swish is nothing": Fault(
        UPSTREAM, 'USE_SILU=activation in ("silu", "swish")', 'USE_SILU=activation == "silu"', "taps"
    ),
    "a shift past the width": Fault(
        UPSTREAM, "in_win = valid & (src >= 0)", "in_win = valid & (src >= 0) & ((req >> 33) == 0)", "taps"
    ),
    "half of a split wraps": Fault(UPSTREAM, "tc_mask = t_mask[:, None] & c_mask[None, :]\n", SPLIT, "wraps"),
}


@needs_upstream
@pytest.mark.parametrize("name", WRONG)
def test_it_is_not_proved(name, tmp_path):
    """Not every program of the kernel has what is claimed."""
    fault = WRONG[name]
    path = str(fault.write(name, tmp_path))
    (obligation,) = (one for one in OBLIGATIONS if one.name == fault.obligation)
    assert prove_all(path, variants(load(path).operators["fused_sconv"], FEW_TAPS), obligation).what != PROVED
