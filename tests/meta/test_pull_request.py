"""The workflow for pull requests: the step that judges, run as it stands in a small repository of kernels."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.candidates.faults import write_faulty
from tests.meta.test_command_line import ROOT

WORKFLOW = (ROOT / "docs/judge-pull-request.yml").read_text()
GOOD = "from tests.meta.candidates import plain\n\n\ndef sconv_seq_metadata(*args, **more):\n"
GOOD += "    return plain.sconv_seq_metadata(*args, **more)\n"
QUICK = "-q -n 0 -k 'searchsorted or (baseline and metadata)'"

pytestmark = pytest.mark.skipif(not (shutil.which("git") and shutil.which("bash")), reason="needs git and bash")


def git(folder: Path, *arguments: str) -> str:
    """Runs git with an author of its own."""
    author = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    found = subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return found.stdout.strip()


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A repository with a good kernel, committed as `base`, and the judge's checkout beside it as in the workflow."""
    folder = tmp_path / "kernels"
    (folder / "ops").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "base")
    (folder / "ops/kept.py").write_text(GOOD)
    (folder / "ops/my kernel.py").write_text(GOOD)
    (folder / "ops/gone.py").write_text(GOOD)
    commit(folder)
    git(folder, "switch", "-q", "-c", "change")
    (folder / ".sconv-judge").symlink_to(ROOT)
    return folder


def commit(folder: Path) -> None:
    """Commits the kernels as they are."""
    git(folder, "add", "--all", "ops")
    git(folder, "commit", "-q", "-m", "a change")


def judged(folder: Path, arguments: str = "", **environment: str) -> tuple[int, str, str]:
    """Exit code, what was printed and the summary of the workflow's step, with more arguments."""
    (step,) = re.findall(r"^ +run: (.*)$", WORKFLOW, re.M)
    summary = folder.parent / "summary.md"
    summary.write_text("")
    own = {"BASE": git(folder, "rev-parse", "base"), "GITHUB_STEP_SUMMARY": str(summary), "ARGS": QUICK}
    done = subprocess.run(
        ["bash", "-e", "-c", f"{step} {arguments}"],
        cwd=folder,
        env={**os.environ, "JUDGE_PYTHON": sys.executable, **own, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr, summary.read_text()


def make_faulty(folder: Path) -> None:
    """Makes one kernel faulty, in a file whose operator is defined there."""
    faulty = write_faulty("search_one_step_short", folder.parent).read_text()
    operator = GOOD[GOOD.index("def ") :].replace("plain.sconv_seq_metadata", "faulty")
    (folder / "ops/my kernel.py").write_text(f"{faulty}\nfaulty = sconv_seq_metadata\n\n\n{operator}")


def test_what_is_judged(kernels):
    """Judges the changed kernels alone, tells each in the summary, and ends with the highest code."""
    make_faulty(kernels)
    (kernels / "ops/helper.py").write_text("from ops.kept import sconv_seq_metadata\n")
    (kernels / "ops/broken.py").write_text("def fused_sconv(x):\n    return x\n\n\nraise OSError('no such driver')\n")
    (kernels / "ops/gone.py").unlink()
    commit(kernels)
    code, printed, summary = judged(kernels)
    assert code == 4, printed
    assert re.findall("^to be judged: (.*)$", printed, re.M) == ["ops/broken.py", "ops/my kernel.py"]
    assert "## ops/broken.py: not judged\n\n    ERROR: candidate " in summary
    assert "no such driver" in summary
    assert "## ❌ <code>my kernel.py</code>: violated" in summary
    assert "<summary>❌ <code>seq_idx_out[" in summary
    report = kernels / "judge-reports/ops/my kernel"
    assert {"report.html", "report.json", "report.md", "terminal.txt"} <= {one.name for one in report.iterdir()}
    assert "Violation: seq_idx_out[" in (report / "terminal.txt").read_text()
    assert git(kernels, "status", "--porcelain", "ops") == ""


def test_skips_and_the_file_as_it_was(kernels):
    """Passes what a file excuses, and still compares with the kernel before the change."""
    make_faulty(kernels)
    commit(kernels)
    (kernels / "skips.txt").write_text("metadata.searchsorted https://example.org/7 # known\n")
    code, printed, summary = judged(kernels, SKIPS="skips.txt")
    assert code == 0, printed
    assert "https://example.org/7" in summary
    code, printed, summary = judged(kernels, SKIPS="skips.txt", AGAINST_BASE="yes")
    assert code == 1, printed
    assert re.search(r"^violated +baseline\.sconv_seq_metadata", printed, re.M)
    assert "`baseline.sconv_seq_metadata`" in summary


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"ARGS": "-m valuess"}, "ERROR: -m names valuess, which is no group; "),
        ({"SKIPS": "none.txt"}, "ERROR: --skips "),
        (
            {"ARGS": "-n 0 -m values", "AGAINST_BASE": "yes"},
            "ERROR: -m 'values' leaves out the group baseline, so AGAINST_BASE=yes would compare nothing; "
            "add it in ARGS: -m 'values or baseline'\n",
        ),
        ({"ARGS": "--no-such-option"}, "ERROR: in ARGS: unrecognized arguments: --no-such-option\n"),
        ({"JUDGE_PYTHON": "/bin/false"}, "JUDGE_PYTHON is '/bin/false', which cannot import pytest\n"),
        ({"ARGS": "--call-limit soon"}, "ERROR: in ARGS: argument --call-limit: invalid float value: 'soon'\n"),
    ],
)
def test_a_wrong_request(kernels, wrong, line):
    """Is told in one line, before the report of an earlier run is taken away."""
    make_faulty(kernels)
    commit(kernels)
    earlier = kernels / "judge-reports/ops/my kernel/report.md"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("of an earlier run")
    code, printed, summary = judged(kernels, **wrong)
    assert code == 4, printed
    assert summary.startswith(line)
    assert printed.count("\n") == 2
    assert earlier.read_text() == "of an earlier run"
    shutil.rmtree(kernels / "judge-reports")
    assert judged(kernels, **wrong)[0] == 4
    assert not (kernels / "judge-reports").exists()


# What is asked for before any kernel is looked at: more arguments of the step, its environment, and the only line.
AT_ONCE = [
    ("'x.py' ':(bad)y'", {}, "git cannot tell what HEAD changes since BASE: Invalid pathspec magic 'bad' in ':(bad)y'"),
    ("", {"ARGS": "-m 'values"}, 'ARGS is "-m \'values", but must be words as a shell takes them'),
    ("", {"AGAINST_BASE": "no"}, "AGAINST_BASE is 'no', but must be yes or empty"),
    (
        "",
        {"BASE": ""},
        "BASE is '', but must be a commit; usage: judge_changed.sh BASE [PATHSPEC...], in the kernels' ",
    ),
]


@pytest.mark.parametrize(("arguments", "wrong", "line"), AT_ONCE)
def test_a_wrong_request_of_the_script(kernels, arguments, wrong, line):
    """Ends in one line, in the summary too, and is never taken for a change without kernels."""
    make_faulty(kernels)
    commit(kernels)
    code, printed, summary = judged(kernels, arguments, **wrong)
    assert (code, printed.count("\n"), summary) == (4, 1, printed)
    assert printed.startswith(line)
    assert not (kernels / "judge-reports").exists()


def test_a_base_without_a_common_commit(kernels):
    """Is told, as a clone that is too shallow has it: no kernel would be judged."""
    git(kernels, "switch", "-q", "--orphan", "alone")
    (kernels / "ops").mkdir(exist_ok=True)
    (kernels / "ops/new.py").write_text(GOOD)
    commit(kernels)
    code, printed, _ = judged(kernels)
    assert code == 4
    assert printed.endswith(": no merge base\n")


def test_help(kernels):
    """Is one line, and no failure; outside of a repository, the folder is named."""
    script = [shutil.which("bash") or "bash", str(ROOT / "docs/judge_changed.sh")]
    done = subprocess.run([*script, "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: judge_changed.sh BASE [PATHSPEC...]")
    done = subprocess.run([*script, "main"], cwd=kernels.parent, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == f"{kernels.parent} is in no git repository; call this in that of the kernels\n"


def test_no_kernel_changed(kernels):
    """Says so and passes."""
    (kernels / "ops/helper.py").write_text("ONE = 1\n")
    commit(kernels)
    code, printed, summary = judged(kernels)
    assert (code, printed, summary) == (0, "no kernel file is changed\n", "no kernel file is changed\n")


def test_a_wrong_base(kernels):
    """Is told in one line."""
    code, printed, _ = judged(kernels, BASE="no-such")
    assert (code, printed) == (4, "BASE is 'no-such', but must be a commit\n")
