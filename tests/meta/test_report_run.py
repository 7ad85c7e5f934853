"""`--report` as its users call it: the files of a run on two workers, and a folder that cannot be one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from properties.report.document import reproduction
from tests.meta.candidates.faults import write_faulty
from tests.meta.test_command_line import ROOT, called
from tests.meta.test_report_data import faults
from tests.reporting import asked_folder

# The production metadata, then a kernel whose programs all store what they have read: a race that changes no value.
RACES = """
import triton
import triton.language as tl
import sconv

@triton.jit
def race(out):
    tl.store(out, tl.load(out))

def sconv_seq_metadata(query_start_loc, *arguments, **named):
    sconv.sconv_seq_metadata(query_start_loc, *arguments, **named)
    out = arguments[2] if len(arguments) > 2 else named["seq_idx_out"]
    if len(out):
        race[(2,)](out)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a report on a faulty candidate, judged by two workers, and what the run printed."""
    folder = tmp_path_factory.mktemp("run")
    path = str(write_faulty("search_one_step_short", folder))
    asked = ("--report", str(folder / "made/here"), "--junitxml", str(folder / "junit.xml"))
    code, printed = called("-n", "2", "--candidate", path, "tests/test_metadata.py", "--hypothesis-seed", "3", *asked)
    assert code == 1, printed
    return folder, printed


def test_the_report_of_two_workers(run):
    """Holds what either worker found: counts, seconds, the violation as data, and keeps to its schema."""
    report = json.loads((run[0] / "made/here/report.json").read_text())
    assert report["verdict"] == "violated"
    assert report["run"]["seed"] == "3"
    assert report["run"]["exit_code"] == 1
    assert report["candidate"]["path"].endswith("search_one_step_short.py")
    verdicts = {one["name"]: (one["verdict"], one["cases"], one["seconds"] > 0) for one in report["properties"]}
    verdict, cases, took_time = verdicts["metadata.refuses"]
    assert (verdict, took_time) == ("holds", True)
    assert cases >= 120
    assert verdicts["metadata.searchsorted"][0] == "violated"
    (found,) = [found for one in report["properties"] for found in one["violations"]]
    assert found["test"] == "tests/test_metadata.py::test_searchsorted"
    assert found["case"].startswith("Metadata(")
    assert found["text"].startswith(found["headline"])
    assert report["totals"]["cases"] == sum(one["cases"] for one in report["properties"])
    assert faults(report) == []


def test_words_and_pictures_of_it(run):
    """Tells the same failure in the comment and on the page."""
    folder, printed = run
    found = re.search(r"^Violation: (.*?) +\[metadata\.searchsorted\]$", printed, re.MULTILINE)
    assert found
    assert found[1] in (folder / "made/here/report.md").read_text()
    page = (folder / "made/here/report.html").read_text()
    assert found[1] in page
    assert "<svg" in page
    assert "No picture" not in page


def test_it_is_replayed(run):
    """Has a command that judges the case alone, and finds the same."""
    report = json.loads((run[0] / "made/here/report.json").read_text())
    (found,) = [found for one in report["properties"] for found in one["violations"]]
    done = subprocess.run(found["replay"], shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, found["headline"]), done.stderr


def test_what_is_seen_beside(tmp_path):
    """Comes with a command that shows it, and a script of its own property's, also from a worker."""
    kernel = tmp_path / "races.py"
    kernel.write_text(RACES)
    asked = ("--report", str(tmp_path / "out"), "--candidate", str(kernel), "--engine", "ttir")
    code, printed = called("-n", "1", *asked, "tests/test_metadata.py::test_searchsorted")
    assert code == 1, printed
    (one,) = [one for one in json.loads((tmp_path / "out/report.json").read_text())["properties"] if one["seen_beside"]]
    assert one["name"] == "hazards.sconv_seq_metadata"
    text = one["seen_beside"][0]
    assert all(f"           {line}\n" in printed for line in text.splitlines() if line)
    command, _ = reproduction(text)
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert f"seen beside: {text.splitlines()[0]}" in done.stdout
    script = re.search(r"^Script: +(.*)$", text, re.M)
    assert script
    words = [sys.executable, "-m", "properties.ttir", script[1]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "write/write conflict: out[0]" in done.stdout


def test_of_two_hazards(tmp_path):
    """Has a script the one that it shows; the other says which script is not its own, and keeps its command."""
    kernel = tmp_path / "races.py"
    again = RACES[RACES.index("@triton.jit") : RACES.index("def sconv_seq")].replace("def race(", "def other(")
    two = RACES.replace("race[(2,)](out)", "(race if len(out) > 4 else other)[(2,)](out)")
    kernel.write_text(two.replace("def sconv_seq", f"{again}def sconv_seq"))
    asked = ("--report", str(tmp_path / "there/../out"), "--candidate", str(kernel), "--engine", "ttir")
    code, printed = called(*asked, "tests/test_metadata.py::test_searchsorted")
    assert code == 1, printed
    (one,) = [one for one in json.loads((tmp_path / "out/report.json").read_text())["properties"] if one["seen_beside"]]
    first, second = sorted(one["seen_beside"], key=lambda text: "No script" in text)
    name = "repro_hazards_sconv_seq_metadata.py"
    assert f"\nScript:       {tmp_path}/out/{name}" in first
    assert second.endswith(f"\nNo script:    a property has one, and {name} is of another violation of it")
    assert all("\nReproduce:    cd " in text for text in one["seen_beside"])
    assert "/../" not in printed


def test_where_it_is_said(run):
    """Ends with the seconds of each group and the files."""
    lines = run[1].splitlines()
    assert any(re.fullmatch(r"seconds of all processes: metadata \d+", line) for line in lines)
    assert any(line.startswith("report: ") and line.endswith("made/here/report.json") for line in lines)


def test_junit_is_left_alone(run):
    """Has the failure as a test's message, and nothing of the report's data."""
    suite = ElementTree.parse(run[0] / "junit.xml").getroot()
    (failure,) = suite.iter("failure")
    assert "Violation: " in failure.get("message", "")
    assert all(len(one.get("value", "")) < 100 for one in suite.iter("property"))


def test_a_file_in_the_way(tmp_path):
    """Is a wrong request, told in one line before anything is judged."""
    (tmp_path / "file").write_text("")
    asked = SimpleNamespace(getoption=lambda name: "file", invocation_params=SimpleNamespace(dir=tmp_path))
    with pytest.raises(pytest.UsageError, match=r"^--report 'file' cannot be a folder: File exists$"):
        asked_folder(asked)  # type: ignore[arg-type]  # all that it asks of a configuration
