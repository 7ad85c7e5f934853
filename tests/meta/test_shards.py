"""`--shard`: each part of a run draws cases of its own, the same ones again, and judges its part of what is pinned."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from properties import tally
from properties.shards import Shard
from tests.keys import ELSEWHERE, SHARD
from tests.meta.candidates.faults import write_faulty
from tests.meta.outside import environment
from tests.meta.reported import RUN, report
from tests.meta.test_command_line import ROOT, called
from tests.meta.test_report_data import faults
from tests.shards import pytest_runtest_setup

TEST = "tests/test_metadata.py::test_searchsorted"

# The production metadata, which notes of each call what was drawn: the request's rows and the padding.
NOTING = """
import json
import sconv

def sconv_seq_metadata(query_start_loc, num_reqs, num_actual_tokens, *others, **named):
    with open({notes!r}, "a") as file:
        file.write(json.dumps([query_start_loc[: num_reqs + 1].tolist(), num_actual_tokens, len(others[0])]) + "\\n")
    sconv.sconv_seq_metadata(query_start_loc, num_reqs, num_actual_tokens, *others, **named)
"""


@pytest.fixture
def drawn(tmp_path):
    """What a run of one test draws, call by call: `drawn(is_ci, *options)`."""

    def run(is_ci: bool, *options: str) -> list[str]:
        notes, kernel = tmp_path / "notes", tmp_path / "noting.py"
        notes.write_text("")
        kernel.write_text(NOTING.format(notes=str(notes)))
        outside = {name: value for name, value in environment().items() if name not in ("CI", "GITHUB_ACTIONS")}
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", TEST, "--candidate", str(kernel), *options]
        done = subprocess.run(
            command, cwd=ROOT, env={**outside, **({"CI": "true"} if is_ci else {})}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return notes.read_text().splitlines()

    return run


def irregular(calls: list[str]) -> set[str]:
    """The batches that chance does not draw twice: with requests of at least four lengths."""
    found = [(call, json.loads(call)[0]) for call in calls]
    return {call for call, starts in found if len({end - start for start, end in pairwise(starts)}) >= 4}


def test_shards_draw_cases_of_their_own(drawn):
    """Repeats the cases of a shard and a seed, under CI and elsewhere, and none of them in another shard."""
    here, there = (str(Shard(index, 3)) for index in (1, 2, 3) if index != Shard(1, 3).owner(TEST).index)  # unpinned
    first = drawn(True, "--shard", here, "--hypothesis-seed", "7")
    assert drawn(False, "--shard", here, "--hypothesis-seed", "7") == first
    others = {
        "another shard": drawn(True, "--shard", there, "--hypothesis-seed", "7"),
        "another seed": drawn(False, "--shard", here, "--hypothesis-seed", "8"),
        "no seed under CI": drawn(True, "--shard", here),
        "no seed in another shard under CI": drawn(True, "--shard", there),
    }
    seen = irregular(first)
    for name, calls in others.items():
        assert irregular(calls), name
        assert seen.isdisjoint(irregular(calls)), name
        seen |= irregular(calls)


@pytest.mark.parametrize("given", ["0/2", "3/2", "-1/2", "1", "1/0", "one/two", "1/2/3", ""])
def test_what_is_no_shard(given):
    """Is told in one line that says what is allowed."""
    with pytest.raises(ValueError, match=r"^'.*' is no shard; allowed: I/N with 1 <= I <= N, such as 3/8$"):
        Shard.read(given)


def test_a_wrong_request_is_one_line():
    """Ends with exit code 4."""
    code, printed = called("--shard", "9/8", TEST)
    assert (code, printed.strip()) == (
        4,
        "ERROR: --shard '9/8' is no shard; allowed: I/N with 1 <= I <= N, such as 3/8",
    )


def test_each_pinned_case_is_judged_once():
    """Names the same owner in every shard, by a test's id alone, and leaves no shard of a run without work."""
    tests = [f"tests/test_values.py::test_{number}" for number in range(100)]
    owners: dict[str, set[str]] = {}
    for index in (1, 2, 3):
        for test in tests:
            stash = pytest.Stash()
            config = SimpleNamespace(stash=pytest.Stash(), getoption=lambda name: None)
            config.stash[SHARD] = Shard(index, 3)
            pytest_runtest_setup(SimpleNamespace(nodeid=test, stash=stash, config=config))  # type: ignore[arg-type]
            owners.setdefault(test, set()).add(stash.get(ELSEWHERE, f"{index}/3"))
    assert all(len(owner) == 1 for owner in owners.values())
    assert set().union(*owners.values()) == {"1/3", "2/3", "3/3"}


def test_what_is_left_to_another_shard_fails_no_run():
    """Is not judged here, says where it is, and is excused; what has another reason is not."""
    for name in ("proof.taps", "values.dense_exact"):
        tally.leave_to(name, "2/3")
    tally.COUNTS["values.dense_exact"].judged = 3
    assert tally.verdict("proof.taps", tally.COUNTS["proof.taps"]) == ("not judged", "left to shard 2/3")
    tally.leave_to("proof.taps", "3/3")
    what, why = tally.verdict("values.dense_exact", tally.COUNTS["values.dense_exact"])
    assert what == "not judged"
    assert why.startswith("no case reached: ")
    assert why.endswith("; the rest is left to shard 2/3")
    tally.merge(json.loads(json.dumps(tally.dump())))  # as it comes home from a worker
    assert tally.verdict("proof.taps", tally.COUNTS["proof.taps"])[1] == "left to shards 2/3, 3/3"
    assert all(count.is_excused for count in tally.COUNTS.values())
    made = report(run=RUN)
    assert {one["name"]: one["elsewhere"] for one in made["properties"]} == {
        "proof.taps": ["2/3", "3/3"], "values.dense_exact": ["2/3"],
    }  # fmt: skip
    assert faults(made) == []
    tally.COUNTS["proof.taps"].reasons.add("the judge failed")
    assert not tally.COUNTS["proof.taps"].is_excused


def test_a_shard_is_named(tmp_path):
    """Stands in the header, in the reports and in the command that shows a failure again, which does."""
    kernel = str(write_faulty("search_one_step_short", tmp_path))
    asked = ("--shard", "2/3", "--hypothesis-seed", "5", "--report", str(tmp_path / "out"))
    code, printed = called("-v", "-n", "1", *asked, "--candidate", kernel, TEST)
    assert code == 1, printed
    assert "shard: 2/3, with cases of its own; each pinned case and each proof is judged in one of the 3\n" in printed
    made = json.loads((tmp_path / "out/report.json").read_text())
    assert made["run"]["shard"] == "2/3"
    assert faults(made) == []
    assert "- Shard: 2/3\n" in (tmp_path / "out/report.md").read_text()
    (again,) = [line for line in printed.splitlines() if line.startswith("Reproduce:")]
    assert again.endswith(" --shard 2/3 --hypothesis-seed 5")
    done = subprocess.run(again.partition(":")[2], shell=True, capture_output=True, text=True)
    assert (done.returncode, Path(kernel).name in done.stdout) == (1, True), done.stdout + done.stderr
    assert "[metadata.searchsorted]" in done.stdout
