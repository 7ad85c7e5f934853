"""Tests that a file excuses: told, with a link, as not judged; a wrong line ends the run."""

from __future__ import annotations

import re

import pytest

from properties import catalogue, tally
from properties.tally import Count, verdict
from properties.verdict import NOT_JUDGED
from tests.meta.candidates.faults import write_faulty
from tests.meta.test_command_line import called
from tests.skips import Skip, parsed

LINK = "https://example.org/1"


def test_lines():
    """Takes a property, a test or one of its parameters; comments and empty lines are none."""
    text = (
        f"# what we know\n\nvalues.unbiased {LINK}\n"
        f"tests/test_values.py::test_dense_exact {LINK}#2   # rounds twice\n"
        f"tests/test_values.py::test_dense_exact[bf16] {LINK}\n"
        f"history.public_bugs[fp32-recycled_nan] {LINK}\n"
    )
    assert parsed(text) == (
        [
            Skip("values.unbiased", "", LINK),
            Skip("values.dense_exact", "", f"{LINK}#2 (rounds twice)"),
            Skip("values.dense_exact", "bf16", LINK),
            Skip("history.public_bugs", "fp32-recycled_nan", LINK),
        ],
        [],
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("values.unbiased", "values.unbiased has no link: a line is test id or property name, link, # reason"),
        ("values.unbiased # later", "values.unbiased has no link: a line is test id or property name, link, "),
        (f"values.unbiassed {LINK}", "values.unbiassed is no property and no test of one; did you mean values.unb"),
        (f"tests/test_values.py::test_x {LINK}", "tests/test_values.py::test_x is no property and no test of one; "),
        (f"zzz {LINK}", "zzz is no property and no test of one"),
        (f"values.unbiased[bf17] {LINK}", "values.unbiased[bf17] is no test; tests/test_values.py::test_unbiased has"),
        (f"metadata.refuses[bf16] {LINK}", "metadata.refuses[bf16] is no test; tests/test_metadata.py::test_refuses"),
        (f"values.unbiased {LINK} later", "'later' follows the link, but a reason begins with #"),
    ],
)  # fmt: skip  # a row a line
def test_a_wrong_line(line, fault):
    """Names the line and what is wrong with it."""
    skips, faults = parsed(line)
    assert skips == []
    assert len(faults) == 1
    assert faults[0].startswith(f"1: {fault}")


def test_every_parameter_is_known():
    """Knows the parameters of every property's test as pytest writes them."""
    code, printed = called("--collect-only", "tests", "--ignore=tests/meta", "--baseline", "sconv")
    assert code == 0, printed
    ids = re.findall(r"^tests/\S+::\S+$", printed, re.M)
    assert len(ids) > len(catalogue.entries())
    assert parsed("\n".join(f"{one} {LINK}" for one in ids))[1] == []


def test_a_skipped_property_that_is_seen_violated(monkeypatch):
    """Stays not judged, and says what was seen."""
    monkeypatch.setattr(tally, "SKIPPED", {"hazards.fused_sconv": LINK})
    found = verdict("hazards.fused_sconv", Count(violated=2))
    assert found == (NOT_JUDGED, f"skipped: {LINK}; seen violated all the same")


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_with_skips(tmp_path, workers):
    """Ends with 0 where all that is violated is excused, and lists it with its link; also from workers."""
    path = str(write_faulty("search_one_step_short", tmp_path))
    skips = tmp_path / "skips.txt"
    skips.write_text(f"metadata.searchsorted {LINK} # one step short\n")
    asked = ("-v", "-n", workers, "tests/test_metadata.py", "--candidate", path)
    code, printed = called(*asked, "--skips", str(skips))
    assert code == 0, printed
    assert f"skips: {skips}, 1 line" in printed
    assert re.search(rf"not judged metadata\.searchsorted +skipped: {LINK} \(one step short\)", printed)
    assert "2 hold, 0 violated, 1 not judged" in printed
    assert called(*asked)[0] == 1


def test_a_run_with_wrong_skips(tmp_path):
    """Ends with 4, in one line for each wrong line."""
    skips = tmp_path / "skips.txt"
    skips.write_text("values.unbiased\nvalues.none https://example.org\n")
    code, printed = called("-n", "2", "tests/test_metadata.py", "--skips", str(skips))
    assert code == 4
    lines = printed.split("\n")
    assert [line for line in lines if line] == [
        f"ERROR: --skips {skips}:1: values.unbiased has no link: a line is test id or property name, link, # reason",
        f"ERROR: --skips {skips}:2: values.none is no property and no test of one; did you mean values.unbiased?",
    ]
    code, printed = called("tests/test_metadata.py", "--skips", "none.txt")
    assert (code, printed.strip()) == (4, "ERROR: --skips 'none.txt' cannot be read: No such file or directory")
