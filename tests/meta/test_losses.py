"""Journals and limits, piece by piece: what a lost process has left, and which call has gone too far."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from properties import journal, losses, tally
from properties.baseline import Baseline
from properties.candidate import load
from properties.cases import Forward
from properties.engines.base import Engine
from properties.invariants import values
from properties.journal import Call, Record, call_of, record_of
from properties.losses import Ending, Limits, Loss, Usage, Watch, ending, last_line, usage
from properties.verdict import Violation
from tests.meta.test_bad_input import CALLS, CASE, written

HERE = os.getpid()


@pytest.fixture
def path(tmp_path):
    """Where a journal is, which is nobody's afterwards."""
    yield tmp_path / "a.journal"
    journal.end()


def test_a_journal(path):
    """Says what is judged and called, at each moment; a shorter case leaves nothing of a longer one."""
    journal.begin(path, is_read=False, subject="kernel.py")
    journal.testing("tests/test_values.py::test_dense_exact[fp32]")
    journal.judging("values.dense_exact", CASE)
    journal.judging("values.dense_exact", Forward())
    told = Record("kernel.py", "tests/test_values.py::test_dense_exact[fp32]", "values.dense_exact", repr(Forward()))
    assert record_of(path) == told
    assert call_of(path) == Call(HERE, 0, "")
    with journal.calling("capture"):
        assert call_of(path) == Call(HERE, 1, "capture")
        with journal.calling("fused_sconv"):
            assert call_of(path) == Call(HERE, 2, "fused_sconv")
        assert call_of(path) == Call(HERE, 2, "capture")
    assert call_of(path) == Call(HERE, 2, "")
    journal.testing("tests/test_values.py::test_unbiased[fp32]")
    assert record_of(path) == Record("kernel.py", "tests/test_values.py::test_unbiased[fp32]")
    journal.leave("nobody reads it")
    journal.end()
    assert not path.exists()


@pytest.mark.parametrize("text", [b"", b"12", b"a b c", b"12 3 fused_sconv".ljust(journal.HEAD) + b"99\n{"])
def test_half_a_journal(path, text):
    """Says nothing of a case."""
    path.write_bytes(text)
    assert record_of(path) == Record()
    assert call_of(path) == (Call(12, 3, "fused_sconv") if text.startswith(b"12 3") else None)


def test_operators_under_judgement(tmp_path, path):
    """Are in the journal while they are called, and only then; those of a baseline under another name."""
    journal.begin(path, is_read=False)
    text = CALLS.format("seen.append(journal.call_of(PATH).called); seen.append(journal.record_of(PATH))")
    text += f"from pathlib import Path\nfrom properties import journal\nseen = []\nPATH = Path({str(path)!r})\n"
    one = load(str(written(tmp_path, text)))
    seen = one.operators["fused_sconv"].__globals__["seen"]
    values.dense_exact(Engine().bind(one), CASE)
    assert seen == ["fused_sconv", Record(property_name="values.dense_exact", case=repr(CASE))]
    assert call_of(path) == Call(HERE, 1, "")
    seen.clear()
    values.dense_exact(Baseline(one, Engine()), CASE)
    assert seen[0] == "baseline.fused_sconv"


class Broken(Engine):
    """A device that a call breaks, as an illegal access does a GPU: for good, and told when it is waited for."""

    lost = False

    def running(self, read_only):
        self.lost = True
        return super().running(read_only)

    def is_lost(self):
        return self.lost


def test_a_broken_device(tmp_path, path):
    """Ends a worker's process with the reason in its journal; another process has the violation."""
    ops = Broken().bind(load(str(written(tmp_path, CALLS.format("raise RuntimeError('an illegal memory access')")))))
    with pytest.raises(Violation, match="raised RuntimeError on a case that the contract allows: an illegal memory"):
        values.dense_exact(ops, CASE)
    if not (child := os.fork()):
        journal.begin(path, is_read=True)
        values.dense_exact(ops, CASE)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == journal.LEFT
    words = "raised RuntimeError on a case that the contract allows: an illegal memory access"
    assert record_of(path) == Record(property_name="values.dense_exact", case=repr(CASE), left=words)
    assert call_of(path) == Call(child, 1, "fused_sconv")


WITHIN = Usage(processor=100.0, clock=1000.0, gib=2.0)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (Usage(110.0, 1050.0, 3.0), None),
        (Usage(110.1, 1000.2, 2.0), "did not return within 10 s of the processor (--call-limit)"),
        (Usage(100.0, 1050.1, 2.0), "did not return within 50 s (5 times --call-limit)"),
        (Usage(100.0, 1000.2, 3.1), "took more than 1 GiB of memory (--call-memory)"),
    ],
)
def test_limits(now, told):
    """Count from when a call was first seen, and for that call alone."""
    watch, call = Watch(Limits(10.0, 1.0)), Call(7, 3, "fused_sconv")
    assert watch.excess(call, WITHIN) is None
    assert watch.excess(call, now) == told
    assert watch.excess(Call(8, 3, "fused_sconv"), now) is None
    assert watch.excess(Call(7, 4, "fused_sconv"), now) is None
    assert watch.excess(call, now) is None
    between = Watch(Limits(10.0, 1.0))
    assert [between.excess(Call(7, 3, ""), one) for one in (WITHIN, now)] == [None, None]


def test_usage():
    """Is what Linux says of a process; of one that is gone, nothing."""
    now = usage(HERE, 5.0)
    assert now is not None
    assert now.clock == 5.0
    assert now.processor > 0
    assert now.gib > 0
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)
    assert usage(child, 5.0) is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (0, Ending("ended the process with code 0", True)),
        (-signal.SIGBUS, Ending("ended the process by SIGBUS", True)),
        (-signal.SIGTERM, Ending("was ended by SIGTERM, which may have come from outside", False)),
        (-(signal.SIGRTMIN + 3), Ending(f"ended the process by signal {signal.SIGRTMIN + 3}", True)),
        (None, Ending("was lost in an unknown way", False)),
    ],
)
def test_endings(code, expected):
    """Are the process's own unless somebody else ends processes so."""
    assert ending(code) == expected


def test_the_line():
    """Is the innermost of the candidate's own file."""
    stack = "Fatal Python error: x\n\n" + "".join(
        f'  File "{path}", line {line} in {name}\n'
        for path, line, name in (("/lib/ctypes.py", 1, "at"), ("/k/a b.py", 7, "inner"), ("/k/a b.py", 9, "outer"))
    )
    source = Path("/k/a b.py")
    assert last_line(stack, source) == "a b.py:7 in inner"
    assert last_line(stack, None) == last_line("", source) == ""


def test_the_line_of_a_package(tmp_path):
    """Is that of any of its files, with its text."""
    (tmp_path / "fused.py").write_text("x = 1\ny = 2\n")
    stack = f'  File "/lib/ctypes.py", line 1 in at\n  File "{tmp_path}/fused.py", line 2 in inner\n'
    assert last_line(stack, tmp_path / "__init__.py") == "fused.py:2 in inner: y = 2"
    assert last_line(stack, tmp_path / "other.py") == ""


def test_a_process_that_does_not_answer(tmp_path, monkeypatch):
    """Says nothing of its line, and keeps nobody waiting."""
    monkeypatch.setattr(losses, "ANSWER", 0.05)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert losses.ask(child.pid, tmp_path / "none.stack", Path("kernel.py")) == ""
    assert losses.ask(child.pid, tmp_path / "none.stack", Path("kernel.py")) == ""


@pytest.mark.parametrize(
    ("called", "case", "is_its_own", "why_not"),
    [
        ("fused_sconv", repr(CASE), True, None),
        ("", repr(CASE), True, "the process ended itself by SIGSEGV, while the candidate was not called"),
        ("fused_sconv", "", True, "the process ended itself by SIGSEGV, while fused_sconv was called"),
        (
            "baseline.fused_sconv",
            repr(CASE),
            True,
            "the process ended itself by SIGSEGV, while baseline.fused_sconv was",
        ),
        ("fused_sconv", repr(CASE), False, "the process ended itself by SIGSEGV, while fused_sconv was called"),
    ],
)
def test_what_a_loss_says(called, case, is_its_own, why_not):
    """Is a violation where the candidate was called for a case; else that the property is not judged."""
    ended = Ending("ended the process by SIGSEGV", is_its_own)
    record = Record(test="tests/test_values.py::test_dense_exact[fp32]", property_name="values.dense_exact", case=case)
    loss = Loss("values.dense_exact", ended, record, Call(7, 3, called))
    found = loss.violation()
    loss.count(found)
    count = tally.COUNTS["values.dense_exact"]
    if why_not is None:
        assert found is not None
        assert (found.case, count.violated, count.violated_dtypes) == (CASE, 1, {"fp32"})
    else:
        assert found is None
        assert count.violated == 0
        (reason,) = count.reasons
        assert reason.startswith(why_not)
