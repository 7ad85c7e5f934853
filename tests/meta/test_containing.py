"""Calls that end, hang or glut their worker: each costs its own case, and everything else is judged and right."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from properties import tally
from tests import containing
from tests.keys import JUDGE
from tests.meta.outside import environment
from tests.meta.test_bad_input import CALLS
from tests.meta.test_command_line import ROOT

NAMES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
KERNEL = (
    "import triton, triton.language as tl\n@triton.jit\ndef wild(x):\n"
    "    tl.store(x + (tl.program_id(0).to(tl.int64) + 1) * 70368744177664, 1.0)\n"
)
JUDGED = ("tests/test_values.py::test_dense_exact", "tests/test_metadata.py")
HOLD = {"metadata.process_frame", "metadata.refuses", "metadata.searchsorted"}


def written(tmp_path, wrong, more=""):
    """A candidate that does something wrong in some dtypes, and is right otherwise."""
    lines = "\n    ".join(f"if x.dtype == torch.{NAMES[dtype]}: wrong_in_{dtype}(x)" for dtype in wrong)
    text = CALLS.format(lines) + (
        "from tests.meta.candidates.plain import sconv_seq_metadata\nimport ctypes, signal, threading, time\n"
    )
    path = tmp_path / "kernel.py"
    path.write_text(text + more + "".join(f"def wrong_in_{dtype}(x):\n    {line}\n" for dtype, line in wrong.items()))
    return path


def started(tmp_path, *arguments):
    """A run of the judge that puts what is temporary into this folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment(TMPDIR=str(tmp_path)), capture_output=True, text=True)


def judged(tmp_path, wrong, *options, engine="ttir", more=""):
    """What a run of one worker says of dense_exact, and all its words; the metadata operator is right and held."""
    path = str(written(tmp_path, wrong, more))
    folder = tmp_path / "report"
    told = ("--candidate", path, "--report", str(folder), "--engine", engine)
    done = started(tmp_path, "-n", "1", *JUDGED, *told, *options)
    assert done.returncode == 1, done.stdout + done.stderr
    report = json.loads((folder / "report.json").read_text())
    properties = {one["name"]: one for one in report["properties"]}
    found = properties.pop("values.dense_exact")
    assert {name: one["verdict"] for name, one in properties.items()} == dict.fromkeys(HOLD, "holds")
    assert all(one["cases"] > 0 for one in properties.values())
    assert [dtype for dtype, verdict in found["dtypes"].items() if verdict == "holds"] == sorted({*NAMES} - {*wrong})
    assert [path.name for path in tmp_path.glob("judge_journals*")] == []
    return found, done.stdout


def headlines(found):
    """What is said against the candidate, by dtype."""
    return {one["dtype"]: one["headline"] for one in found["violations"]}


def violated(words):
    """The first line of a violation."""
    return f"Violation: fused_sconv {words}   [values.dense_exact]"


# What is wrong in bf16, fp16 and fp32, the options of the run, what is told of each, and the line that is named.
LOST = {
    "exits": (
        (
            "ctypes.CDLL(None)._exit(0)",
            "threading.Thread(target=os._exit, args=(3,)).start(); time.sleep(99)",
            "os.abort()",
        ),
        (),
        ("ended the process with code 0", "ended the process with code 3", "ended the process by SIGABRT"),
        (None, None, "os.abort()"),  # which is all that Python can say of a process that ends below it
    ),
    "excess": (
        (
            "while x is not None: pass",
            "ctypes.PyDLL(None).pause()  # holds Python's lock, and does not use the processor",
            # so slowly that no other limit is passed before, however late the controller looks
            "hoard = [(time.sleep(0.4), b'x' * 2**27) for _ in range(64)]",
        ),
        ("--call-limit", "2", "--call-memory", "0.5"),
        (
            "did not return within 2 s of the processor (--call-limit)",
            "did not return within 10 s (5 times --call-limit)",
            "took more than 0.5 GiB of memory (--call-memory)",
        ),
        (
            "while x is not None: pass",
            "ctypes.PyDLL(None).pause()  # holds Python's lock, and does not use the processor",
            "hoard = [(time.sleep(0.4), b'x' * 2**27) for _ in range(64)]",
        ),
    ),
}


@pytest.mark.parametrize("kind", LOST)
def test_lost_workers(tmp_path, kind):
    """Each violates the property at hand, in the dtype at hand; what is left goes to another worker."""
    wrong, options, told, lines = LOST[kind]
    found, printed = judged(tmp_path, dict(zip(NAMES, wrong, strict=True)), *options)
    assert headlines(found) == dict(zip(NAMES, map(violated, told), strict=True))
    assert all("Forward(geometry=Geometry(" in one["case"] for one in found["violations"])
    assert printed.count("node down") == 3
    for one in found["violations"]:
        line = dict(zip(NAMES, lines, strict=True))[one["dtype"]]
        assert bool(line) == ("At:  " in one["text"])
        assert line is None or re.search(rf"\nAt:    kernel\.py:\d+ in .+: {re.escape(line)}\n", one["text"])
        assert one["text"].endswith(f"\nNo script:    {containing.NO_SCRIPT}")


def test_judged_again(tmp_path):
    """Its line is told where Python knows it, and the command that is printed ends as the worker did."""
    found, printed = judged(tmp_path, {"fp16": "ctypes.string_at(0)"})
    assert headlines(found) == {"fp16": violated("ended the process by SIGSEGV")}
    assert "in fp16; bf16, fp32 held; " in printed
    text = found["violations"][0]["text"]
    assert "At:    kernel.py:" in text
    command = text.partition("Reproduce:")[2].strip().splitlines()[0].partition(" && ")[2]
    assert subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True).returncode == -signal.SIGSEGV
    assert found["violations"][0]["replay"].endswith(command)


def test_the_last_failure_wanted(tmp_path):
    """Ends the run also where it is a lost worker."""
    path = str(written(tmp_path, dict.fromkeys(NAMES, "os.abort()")))
    done = started(tmp_path, "-n", "1", "-x", JUDGED[0], "--candidate", path, "--engine", "ttir")
    assert "stopping after 1 failures" in done.stdout
    assert "1 failed in " in done.stdout


def test_a_device_that_an_earlier_test_broke():
    """Leaves a property not judged, where no worker could be replaced; a test of the judge's own goes on."""
    judge = SimpleNamespace(engine=SimpleNamespace(is_lost=lambda: True))
    item = SimpleNamespace(nodeid=f"{JUDGED[0]}[fp32]", config=SimpleNamespace(stash={JUDGE: judge}))
    with pytest.raises(pytest.fail.Exception, match=r"^not judged \[values.dense_exact\]: an earlier call broke"):
        containing.pytest_runtest_setup(item)  # type: ignore[arg-type]  # all that it asks of a test
    assert tally.verdict("values.dense_exact", tally.COUNTS["values.dense_exact"])[0] == "not judged"
    item.nodeid = "tests/meta/test_losses.py::test_limits"
    containing.pytest_runtest_setup(item)  # type: ignore[arg-type]


def test_a_worker_that_stays(tmp_path):
    """Is not lost over what is an exception by then."""
    found, printed = judged(tmp_path, {"bf16": "os._exit(5)", "fp32": "torch.empty(2**60, dtype=torch.uint8)"})
    told = headlines(found)
    assert told["bf16"] == violated("called os._exit(5) on a case that the contract allows")
    assert told["fp32"].startswith("Violation: fused_sconv raised RuntimeError on a case that the contract allows: ")
    assert "node down" not in printed


def test_a_worker_ended_from_outside(tmp_path):
    """Accuses nobody, names the case, and fails the run."""
    found, printed = judged(tmp_path, {"fp16": "os.kill(os.getpid(), signal.SIGKILL)"})
    why = "the process was ended by SIGKILL, which may have come from outside, while fused_sconv was called"
    assert (found["verdict"], found["reasons"], found["violations"]) == ("not judged", [why], [])
    assert f"not judged [values.dense_exact]: {why}\nFailing case: Forward(" in printed


def test_a_worker_that_cannot_begin(tmp_path):
    """Is not replaced for ever."""
    ends = "if 'PYTEST_XDIST_WORKER' in os.environ: ctypes.CDLL(None)._exit(0)\n"
    done = started(tmp_path, "-n", "1", *JUDGED, "--candidate", str(written(tmp_path, {}, ends)))
    assert done.returncode == 1
    assert "workers ended before they had collected the tests" in done.stdout


def test_without_workers(tmp_path):
    """Ends as the call does; the next run says in which case that was, once."""
    path = str(written(tmp_path, {"fp16": "os.abort()"}))
    ended = started(tmp_path, "-n", "0", f"{JUDGED[0]}[fp16]", "--candidate", path, "--engine", "ttir")
    assert ended.returncode == -signal.SIGABRT
    first, second = (started(tmp_path, "-n", "0", "-v", "tests/test_metadata.py::test_refuses") for _ in range(2))
    (note,) = (line for line in first.stdout.splitlines() if line.startswith("note: an earlier run"))
    assert "ended in a call of fused_sconv: cd " in note
    assert re.search(rf"-m properties\.replay {re.escape(path)} values\.dense_exact ['\"]Forward\(", note)
    assert "an earlier run" not in second.stdout
    assert first.returncode == second.returncode == 0


@pytest.mark.parametrize(("option", "value"), [("--call-limit", "0"), ("--call-memory", "-1"), ("--call-limit", "nan")])
def test_a_limit_that_is_none(tmp_path, option, value):
    """Ends the run in one line."""
    done = started(tmp_path, "-n", "1", option, value, JUDGED[0])
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.strip() == f"ERROR: {option} must be more than 0, not {value}"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA: its context is what breaks")
@pytest.mark.parametrize(
    "wrong",
    ["wild[(1,)](x)", "torch.zeros(4, device=x.device)[torch.tensor([2**20], device=x.device)]"],
    ids=["illegal access", "device assert"],
)
def test_a_broken_context(tmp_path, wrong):
    """Violates the property at hand; the worker ends itself, so that no other call meets the context."""
    found, printed = judged(tmp_path, {"fp16": wrong}, engine="cuda", more=KERNEL)
    assert headlines(found)["fp16"].startswith("Violation: fused_sconv raised ")
    assert printed.count("node down") == 1
