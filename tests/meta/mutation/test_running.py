"""Runs of mutants: what is killed, what survives, what is invalid, what hangs; a sample of ours; wrong requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAMPLE = 20
# Runs two tests on hand-made mutants, in a process of its own since it forks.
BY_HAND = """
import json, sys
from dataclasses import replace
from pathlib import Path
from properties.mutation.running import Plan, Target, judged, preload
from properties.mutation.source import Mutant

target = Target(Path("sconv").resolve())
text = (target.path / "metadata.py").read_text()
start = text.index("    if num_padded_tokens is None:")

def mutant(name, new):
    return Mutant("by_hand", "metadata.py", name, 1, start, "    if num_padded_tokens is None:", new)

mutants = [
    None,
    mutant("harmless", "    pass\\n    if num_padded_tokens is None:"),
    mutant("wrong", "    num_reqs = max(num_reqs - 1, 0)\\n    if num_padded_tokens is None:"),
    mutant("hangs", "    while True:\\n        pass\\n    if num_padded_tokens is None:"),
    mutant("no_python", "    if (num_padded_tokens is None:"),
    mutant("leaves", "    import os\\n    os._exit(0)\\n    if num_padded_tokens is None:"),
    mutant("ends", "    import ctypes\\n    ctypes.CDLL(None)._exit(0)\\n    if num_padded_tokens is None:"),
]
tests = ("tests/test_metadata.py::test_searchsorted", "tests/test_metadata.py::test_refuses")
preload()
plan = Plan(target, test_limit=20, tests=tests)
for result in judged(plan, mutants):
    print(json.dumps(result))
"""


def called(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs Python in the project's folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)


def test_a_fixed_sample_is_killed(tmp_path):
    """Kills twenty mutants spread over the kernels of sconv/, and goes on from its file of results."""
    results = tmp_path / "results.jsonl"
    command = ("-m", "properties.mutation", "sconv", "--limit", str(SAMPLE), "--no-control", "--json", str(results))
    run = called(*command)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{SAMPLE} of {SAMPLE} killed (100.0%)" in run.stdout
    lines = [json.loads(line) for line in results.read_text().splitlines()[1:]]
    assert [one["key"] for one in lines if not one["killed_by"]] == []
    assert len({one["operator"] for one in lines}) > SAMPLE // 3
    results.write_text("\n".join(results.read_text().splitlines()[:-2]) + "\n")
    again = called(*command)
    assert "2/2 killed" in again.stdout
    assert f"{SAMPLE} of {SAMPLE} killed (100.0%)" in again.stdout


def test_what_becomes_of_mutants():
    """Tells killed, survived, invalid and hanging apart; what ends the process is no pass."""
    run = called("-c", BY_HAND)
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    states = {one["key"].split()[0].split(":")[-1]: one for one in found}
    assert {name: one["state"] for name, one in states.items()} == {
        "control": "survived",
        "harmless": "survived",
        "wrong": "killed",
        "hangs": "timeout",
        "no_python": "invalid",
        "leaves": "killed",  # a violation: the judge has stayed
        "ends": "failed",
    }, run.stderr
    assert states["wrong"]["killed_by"] == ["metadata.searchsorted"]
    assert "Failing case: Metadata(" in states["wrong"]["example"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("no/such.py",), "ERROR: no/such.py does not exist; allowed: a kernel file, or the folder of a package"),
        (("reference",), "ERROR: reference defines no @triton.jit function"),
        (("sconv", "--operators", "drop_masks"), "ERROR: --operators names drop_masks; allowed: drop_mask_term, "),
        (("sconv", "--json", "{tmp}/other.jsonl"), "other.jsonl holds results of another run: target 'kernel.py' "),
    ],
)
def test_a_wrong_request_is_one_line(arguments, line, tmp_path):
    """Ends with exit code 4 and a line that names what is allowed."""
    (tmp_path / "other.jsonl").write_text(json.dumps({"target": "kernel.py"}) + "\n")
    run = called("-m", "properties.mutation", *(one.replace("{tmp}", str(tmp_path)) for one in arguments))
    assert run.returncode == 4
    assert line in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
