"""Verdicts and their words: a violation's text, the three verdicts, and that vacuous is not a pass."""

from __future__ import annotations

import pytest
import torch

from properties import cases, tally
from properties.cases import Forward, Geometry, Metadata, Request
from properties.invariants import values
from properties.judge import Judge
from properties.report.document import totals_line
from properties.tally import Count, verdict
from properties.verdict import HOLDS, NOT_JUDGED, VIOLATED, NotJudged, Violation
from reference.dense import dense_conv
from tests.meta.candidates import plain
from tests.meta.judging_table import bound
from tests.meta.reported import report

GEOMETRY = Geometry(H=1, ws=3, N=4, W=4, off_s=0, D=3, dtype="bf16")
CASE = Forward(GEOMETRY, (Request(0, 2), Request(4, 1)), use_residual=False)
SKIPPED_HELD, SKIPPED_VIOLATED = "skipped in bf16; fp32 held", "in fp32; skipped in bf16"


class Loose:
    """Operators that skip the cache: every tap before the forward is 0."""

    name, home, earlier, rerun = "loose.py", "cpu", None, None

    class engine:  # stands for an Engine
        name, sees_hazards = "ttir", False

        @staticmethod
        def address(tensor):
            """Where its memory begins."""
            return tensor.untyped_storage().data_ptr()

    def offers(self, operator):
        """Offers the convolution only."""
        return operator == "fused_sconv"

    def judging(self, name, case):
        """Watches nothing."""
        from contextlib import nullcontext

        return nullcontext()

    def fused_sconv(self, x, weight, query_start, slot_mapping, **rest):
        """Convolves each request's new rows alone."""
        out = torch.empty_like(x)
        for first in set(query_start.tolist()):
            rows = query_start == first
            out[rows] = dense_conv(x[rows], weight, None, False).to(x.dtype)
        return out


def test_the_words_of_a_violation():
    """Reads as the style page asks: what differs, let, then, but, the case."""
    with pytest.raises(Violation) as caught:
        values.dense_exact.__wrapped__(Loose(), CASE)  # type: ignore[attr-defined]  # the invariant without its counting
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("Violation: out[request 1, position 4, channel 0] = ")
    assert lines[0].endswith("   [values.dense_exact]")
    assert ", but should be " in lines[0]
    assert lines[2:5] == [
        "Let:   request 1 has 4 tokens in the cache and 1 new token (window and new rows in blocks 1, 2), N = 4, W = 4",
        "Then:  position 4: tap 0 is block 1 offset 1, tap 1 is block 1 offset 2, "
        "tap 2 is block 1 offset 3, tap 3 is x[2]",
        "But:   3 of 9 elements differ, all of request 1 in row 2",
    ]
    assert lines[-1] == f"Failing case: {CASE!r}"


def test_a_case_pastes_back():
    """Evaluates a case's repr to the case."""
    assert eval(repr(CASE), vars(cases)) == CASE


@pytest.mark.parametrize(
    ("count", "wanted"),
    [
        (Count(judged=3, edges=set(values.NEEDS)), (HOLDS, "")),
        (Count(judged=3, violated=1, edges=set(values.NEEDS)), (VIOLATED, "")),
        (Count(violated=1), (VIOLATED, "")),
        (Count(), (NOT_JUDGED, "no case was judged")),
        (Count(judged=3, edges=values.NEEDS - {"cached tap"}), (NOT_JUDGED, "no case reached: cached tap")),
        (Count(judged=3, edges=set(values.NEEDS), reasons={"why"}), (NOT_JUDGED, "why")),
        (Count(judged=3, reasons={"skipped in bf16"}, dtypes={"fp32"}, excused=True), (NOT_JUDGED, SKIPPED_HELD)),
        (Count(violated=3, reasons={"skipped in bf16"}, violated_dtypes={"fp32"}), (VIOLATED, SKIPPED_VIOLATED)),
    ],
)
def test_the_three_verdicts(count, wanted):
    """Never takes a property for held whose cases did not reach what it is about."""
    assert verdict("values.dense_bound", count) == wanted


def test_counts_add_up(monkeypatch):
    """Adds what workers report."""
    monkeypatch.setattr(tally, "COUNTS", {})
    one = {
        "judged": 2,
        "violated": 0,
        "edges": ["a"],
        "reasons": [],
        "notes": [],
        "examples": {},
        "dtypes": [],
        "violated_dtypes": [],
        "excused": False,
        "near": 0,
        "replays": 3,
        "elsewhere": ["1/2"],
    }
    tally.merge({"g.p": one})
    tally.merge(
        {
            "g.p": {
                **one,
                "violated": 1,
                "edges": ["b"],
                "reasons": ["r"],
                "notes": ["n"],
                "examples": {"f.py:1": "e"},
                "dtypes": ["bf16"],
                "excused": True,
            }
        }
    )
    assert tally.COUNTS == {
        "g.p": Count(
            4, 1, {"a", "b"}, {"r"}, {"f.py:1": "e"}, {"bf16"}, set(), True, {"n"}, replays=6, elsewhere={"1/2"}
        )
    }
    assert tally.dump() == {
        "g.p": {
            "judged": 4,
            "violated": 1,
            "edges": ["a", "b"],
            "reasons": ["r"],
            "notes": ["n"],
            "examples": {"f.py:1": "e"},
            "dtypes": ["bf16"],
            "violated_dtypes": [],
            "excused": True,
            "near": 0,
            "replays": 6,
            "elsewhere": ["1/2"],
        }
    }


def test_what_is_not_offered_is_not_judged(monkeypatch):
    """Says which operator is missing, and which engine would observe hazards."""
    monkeypatch.setattr(tally, "COUNTS", {})
    from properties.invariants import hazards, metadata

    with pytest.raises(NotJudged, match=r"loose\.py offers no sconv_seq_metadata"):
        metadata.searchsorted(Loose(), Metadata())
    with pytest.raises(NotJudged, match=r"does not observe hazards; judge with --engine ttir"):
        hazards.fused_sconv(Loose(), CASE)
    assert all(count.excused for count in tally.COUNTS.values())


def test_lines_of_verdicts(monkeypatch):
    """Counts the cases of what holds in a column, and says of what is violated in how many others it was not seen."""
    counts = {
        "values.dense_bound": Count(judged=49, violated=1, dtypes={"bf16", "fp16"}, violated_dtypes={"bf16"}),
        "values.dense_exact": Count(judged=1, edges=set(values.NEEDS)),
        "values.one_hot_taps": Count(violated=1, violated_dtypes={"bf16"}),
        "metadata.searchsorted": Count(judged=1, violated=2),
    }
    monkeypatch.setattr(tally, "COUNTS", counts)
    ops = bound("plain.py", plain)
    assert Judge(ops, ops.engine).summary()[:4] == [
        "violated   metadata.searchsorted                       not seen in 1 other case",
        "violated   values.dense_bound                          in bf16; fp16 held; not seen in 49 other cases",
        "holds      values.dense_exact                 1 case",
        "violated   values.one_hot_taps                         in bf16",
    ]


@pytest.mark.parametrize(("cases", "words"), [(1, "1 case; "), (0, "0 cases; "), (1200, "1,200 cases; ")])
def test_the_last_line(cases, words):
    """Counts the cases of the run as one says it."""
    tally.COUNTS["values.dense_exact"] = Count(judged=cases)
    ops = bound("plain.py", plain)
    assert words in f" {Judge(ops, ops.engine).summary()[-1]}"
    assert f"; {words.removesuffix('; ')} in " in totals_line(report())
