"""Reports as data: a violation there and back, the verdicts of a run, the schema."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from properties import cases, tally
from properties.cases import Forward
from properties.report.data import as_data, from_data
from properties.report.document import Outcome, environment_lines, totals_line
from properties.report.markdown import rendered
from properties.report.reading import read
from properties.tally import Count
from properties.verdict import HOLDS, NOT_JUDGED, VIOLATED
from tests.meta.judging_table import drawn_cases, table
from tests.meta.reported import CASE, NULL_BLOCK, RUN, outcome, report, violation
from tests.meta.test_report_pictures import DRAWN

SCHEMA = Path(__file__).parents[2] / "docs" / "report.schema.json"
EXACT = "tests/test_values.py::test_dense_exact"


def faults(document: object) -> list[str]:
    """What the schema has to say against a document."""
    jsonschema = pytest.importorskip("jsonschema", reason="validating needs jsonschema, which `make test` installs")
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    return [f"{'/'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(document)]


def test_a_violation_there_and_back():
    """Gives the violation that it was made of, errors that JSON has no number for included."""
    found = violation(came={2: NULL_BLOCK, 0: None})
    again = from_data(json.loads(json.dumps(as_data(found), allow_nan=False)))
    assert repr(again) == repr(found)
    assert str(again) == str(found)


def test_a_later_report_may_hold_more():
    """Leaves out what it has no field for, at every depth."""
    found = violation()
    data = as_data(found) | {"colour": "red"}
    data["taps"] = [{**tap, "shade": 3, "meant": {**tap["meant"], "lane": 1}} for tap in data["taps"]]
    assert repr(from_data(data)) == repr(found)


@pytest.mark.parametrize("name", DRAWN)
def test_cases_are_read_without_being_evaluated(name):
    """Gives the case that a text is of, for the cases of every property."""
    judged = table("bf16")[name]
    for case in (*drawn_cases(name, "bf16", 10), *judged.pinned):
        assert read(repr(case)) == case


@pytest.mark.parametrize(
    "text", ["__import__('os').getcwd()", "Forward", "Forward(seed=open('x'))", "Case(", "Forward(colour=1)", "[1]"]
)
def test_what_is_no_case_is_refused(text):
    """Raises ValueError, and calls nothing but cases."""
    with pytest.raises(ValueError, match="no case"):
        read(text)


def test_a_report_keeps_to_its_schema():
    """Is what docs/report.schema.json describes, with and without violations."""
    assert faults(report()) == []
    tally.COUNTS["values.dense_exact"] = Count(judged=3, violated=2, edges={"decode"}, examples={"": "Violation: x"})
    found = report(outcome(violation(came={2: NULL_BLOCK, 3: None})), Outcome(f"{EXACT}[fp16]", "passed", 0.5))
    assert faults(json.loads(json.dumps(found, allow_nan=False))) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verdict": "passed"}, "'passed' is not one of"),
        ({"version": 2}, "1 was expected"),
        ({"totals": {}}, "'cases' is a required property"),
    ],
)
def test_the_schema_refuses(change, words):
    """Notices a report that is not what it says."""
    assert any(words in fault for fault in faults(report() | change))


def test_verdicts_of_tests():
    """Says of each dtype what its test came to, and adds up seconds by property and group."""
    tally.COUNTS["values.dense_exact"] = Count(judged=40, violated=5)
    found = report(
        outcome(violation()),
        Outcome(f"{EXACT}[fp16]", "passed", 2.0),
        Outcome(f"{EXACT}[fp32]", "skipped", text="fp32 not judged: why"),
    )
    (exact,) = found["properties"]
    assert exact["dtypes"] == {"bf16": VIOLATED, "fp16": HOLDS, "fp32": NOT_JUDGED}
    assert exact["verdict"] == found["verdict"] == VIOLATED
    assert exact["seconds"] == found["groups"][0]["seconds"] == 3.25
    assert totals_line(found) == "1 violated, 0 hold, 0 not judged; 40 cases in 121 s"


def test_a_dtype_that_is_skipped():
    """Is named beside those that are violated, in the data and in the comment's table."""
    reason = "skipped in fp16: https://example.org/1"
    tally.COUNTS["values.dense_exact"] = Count(violated=1, reasons={reason}, excused=True)
    found = report(outcome(violation()), Outcome(f"{EXACT}[fp16]", "skipped", text="not judged: https://example.org/1"))
    assert found["properties"][0]["reasons"] == [reason]
    assert f"| bf16; {reason} |" in rendered(found)


def test_the_violation_told_in_full_comes_first():
    """Begins with the smallest case, whichever test has it; of two of one size, the same one each time."""
    cases_by_dtype = {"bf16": Forward(seed=12), "fp16": Forward(seed=3), "fp32": Forward(seed=2)}
    found = [outcome(replace(violation(), case=case), f"{EXACT}[{dtype}]") for dtype, case in cases_by_dtype.items()]
    (exact,) = report(*found)["properties"]
    assert [one["dtype"] for one in exact["violations"]] == ["fp32", "fp16", "bf16"]


def test_a_violation_whose_count_was_lost():
    """Counts as one, though the worker that saw it ended before it told its counts."""
    (exact,) = report(outcome(violation()))["properties"]
    assert (exact["verdict"], exact["reasons"]) == (VIOLATED, [])


@pytest.mark.parametrize(
    ("count", "test", "reason"),
    [
        (Count(judged=3), Outcome("", "failed", text="x\nE   KeyError: 1\nmore"), "KeyError: 1"),
        (None, Outcome("", "failed", text="worker 'gw1' crashed"), "worker 'gw1' crashed"),
        (None, Outcome("", "skipped", text="bf16 not judged: why"), "bf16 not judged: why"),
        (Count(reasons={"counted"}), Outcome("", "failed", text="not judged: counted"), "counted"),
    ],
)
def test_what_failed_without_a_violation_is_not_judged(count, test, reason):
    """Says why, in the words of the test where no count tells."""
    if count:
        tally.COUNTS["metadata.refuses"] = count
    (one,) = report(replace(test, id="tests/test_metadata.py::test_refuses"))["properties"]
    assert (one["verdict"], one["reasons"]) == (NOT_JUDGED, [reason])


def test_the_verdict_of_a_run():
    """Holds only where something was judged and the run ended well."""
    tally.COUNTS["metadata.refuses"] = Count(judged=3, edges={"padded rows", "slack"})
    well = replace(RUN, exit_code=0)
    assert report(run=well)["verdict"] == HOLDS
    assert report(run=RUN)["verdict"] == NOT_JUDGED
    tally.COUNTS.clear()
    assert report(run=well)["verdict"] == NOT_JUDGED


def test_tests_of_the_judge_are_counted_apart():
    """Takes no test for a property's that is none."""
    found = report(Outcome("tests/meta/test_replay.py::test_x", "failed"))
    assert found["properties"] == []
    assert found["other_tests"] == {"passed": 0, "failed": 1, "skipped": 0}


def test_the_environment_in_words(monkeypatch):
    """Names candidate, engine, profile, versions, and each configuration of autotuned kernels."""
    launches = {"kernel": {"BLOCK: 64": 1200, "BLOCK: 128": 0, "BLOCK: 256": -1}}
    monkeypatch.setattr("properties.configurations.LAUNCHES", launches)
    told = environment_lines(report())
    assert ("Profile", "pr, seed 7") in told
    assert [words for name, words in told if name == "Autotuned"] == [
        "kernel: BLOCK: 64: 1,200 launches",
        "kernel: BLOCK: 128: never run: not judged",
        "kernel: BLOCK: 256: always pruned away",
    ]


def test_the_case_is_text():
    """Holds the case as the text that replays it."""
    assert eval(as_data(violation())["case"], vars(cases)) == CASE
