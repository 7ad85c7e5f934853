"""`--report` as its users call it: the files of a run on two workers, and a folder that cannot be one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from tests.meta.candidates.faults import write_faulty
from tests.meta.test_command_line import called
from tests.meta.test_report_data import faults
from tests.reporting import asked_folder


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
