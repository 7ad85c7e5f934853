"""The judge as its users call it: exit codes, the header, the verdicts, one line for a wrong request."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.meta.candidates.faults import write_faulty
from tests.reproducing import quoted

ROOT = Path(__file__).parents[2]
ONE_OPERATOR = "from tests.meta.candidates.plain import sconv_seq_metadata\n"
ONE_CASE_EACH = ("-p", "no:cacheprovider", "tests/test_metadata.py")


def called(*arguments: str) -> tuple[int, str]:
    """Exit code and everything printed by one run of the judge."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-n", "0", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--candidate", "no/such.py"), "ERROR: candidate 'no/such.py' is no file; allowed: "),
        (("-m", "valuess"), "ERROR: -m names valuess, which is no group; allowed: baseline, batch, cache, graphs, "),
        (("--hypothesis-profile", "quick"), "ERROR: --hypothesis-profile 'quick' is unknown; allowed: pr, nightly, "),
        (
            ("-n", "1", "--report", "a\udcff"),
            "ERROR: 'a\\udcff' has bytes that are no UTF-8, which no worker, report ",
        ),
        (("--engine", "gpu"), "ERROR: engine 'gpu' is unknown; allowed: auto, cuda, ttir, interpreter"),
        pytest.param(
            ("--engine", "cuda"),
            "ERROR: engine 'cuda' cannot run here: torch sees no CUDA GPU; allowed here: auto, ttir, interpreter",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here: the engine can run"),
        ),
    ],
)
def test_a_wrong_request_is_one_line(arguments, line):
    """Ends with exit code 4 and one line that names what is allowed, no traceback."""
    code, printed = called(*arguments, "tests/test_metadata.py")
    assert code == 4
    assert line in printed
    assert "Traceback" not in printed
    assert len(printed.strip().splitlines()) == 1


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize("word", ["a b.py", "a'b.py", "a\nb's \\n.py", "a\x1b[1m.py"])
def test_a_word_of_a_command(word):
    """Stands on one line, and is what a shell makes of it."""
    assert quoted(word).isprintable()
    shown = subprocess.run(["bash", "-c", f"printf %s {quoted(word)}"], capture_output=True, text=True, check=True)
    assert shown.stdout == word


def held(printed: str) -> dict[str, int]:
    """The cases of each property that the verdicts say holds."""
    return {name: int(cases) for name, cases in re.findall(r"^holds +(\S+) +(\d+) cases", printed, re.M)}


def test_a_candidate_with_one_operator(tmp_path):
    """Judges what is offered, says in header and verdicts what is not, and passes."""
    path = tmp_path / "half.py"
    path.write_text(ONE_OPERATOR)
    code, printed = called("-v", "--candidate", str(path), "tests/test_metadata.py", "tests/test_values.py")
    assert code == 0, printed
    assert f"judging: {path} (sha256 " in printed
    assert ", sconv_seq_metadata; not offered: fused_sconv" in printed
    assert "engine: " in printed
    assert "profile pr" in printed
    assert held(printed)["metadata.searchsorted"] >= 120
    assert re.search(rf"not judged values\.dense_exact +{path} offers no fused_sconv", printed)
    assert "missing    fused_sconv is not offered by the candidate" in printed


def test_a_faulty_candidate(tmp_path):
    """Fails with the violation's text alone, counts it, and says how to see it again."""
    path = str(write_faulty("search_one_step_short", tmp_path))
    code, printed = called("--candidate", path, "tests/test_metadata.py")
    assert code == 1
    assert "Violation: " in printed
    assert "[metadata.searchsorted]" in printed
    assert "Failing case: Metadata(" in printed
    assert f" -m pytest tests/test_metadata.py::test_searchsorted --candidate {path} --engine " in printed
    assert "violated   metadata.searchsorted" in printed
    assert "Traceback" not in printed
    assert "hypothesis/core.py" not in printed


def test_counts_come_home_from_workers(tmp_path):
    """Adds up the counts of xdist's workers."""
    path = tmp_path / "half.py"
    path.write_text(ONE_OPERATOR)
    code, printed = called("-n", "2", "--candidate", str(path), "tests/test_metadata.py")
    assert code == 0, printed
    counts = held(printed)
    assert len(counts) > 1
    assert min(counts.values()) >= 60
    assert f"{len(counts)} hold, 0 violated, 0 not judged; {sum(counts.values()):,} cases" in printed


def test_what_was_not_reached_is_no_pass(tmp_path, monkeypatch):
    """Ends with exit code 1 when a property's cases never reached what it is about."""
    path = tmp_path / "half.py"
    path.write_text(
        ONE_OPERATOR + "from properties import tally\n"
        "tally.CATALOGUE.update(__import__('properties.invariants.metadata').tally.CATALOGUE)\n"
        "from dataclasses import replace\n"
        "name = 'metadata.searchsorted'\n"
        "tally.CATALOGUE[name] = replace(tally.CATALOGUE[name], needs=frozenset({'a blue moon'}))\n"
    )
    code, printed = called("--candidate", str(path), "tests/test_metadata.py::test_searchsorted")
    assert code == 1, printed
    assert re.search(r"not judged metadata\.searchsorted +\d+ cases  no case reached: a blue moon", printed)


def test_where_no_script_can_be_written(tmp_path):
    """Says so beside the violation, which is not lost."""
    (tmp_path / "taken").write_text("")
    path = str(write_faulty("search_one_step_short", tmp_path))
    code, printed = called("--candidate", path, "--reproducers", str(tmp_path / "taken"), "tests/test_metadata.py")
    assert code == 1
    assert "Violation: " in printed
    assert "No script:    [Errno " in printed
    instead = re.search(r"^Instead:      (cd .* -m properties\.replay .*)$", printed, re.M)
    assert instead
    done = subprocess.run(instead[1], shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stdout.startswith("Violation: seq_idx_out[")) == (1, True), done.stdout + done.stderr
