"""A candidate that would end the process at once: no run of it reads as if all had held."""

from __future__ import annotations

import os
import threading

import pytest

from properties.candidate import load
from properties.engines.base import Engine
from properties.invariants import values
from properties.leaving import NAMES, Leaving, staying
from properties.replay import main
from properties.reproducer import Unwritable, reproduce
from properties.verdict import Violation
from tests.meta.test_bad_input import CALLS, CASE, written
from tests.meta.test_command_line import called

LEAVES = CALLS.format("os._exit(0)")


def test_of_what_is_forked_and_of_other_threads():
    """Leaves them alone, and everything is as before afterwards."""
    before = [getattr(os, name) for name in NAMES]
    with staying():
        if not (child := os.fork()):
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        raised: list[BaseException] = []

        def leave() -> None:
            try:
                os.execv("/no/such/program", ["no"])
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
        assert [type(one) for one in raised] == [FileNotFoundError]
        with pytest.raises(Leaving, match=r"^os\._exit\(0\)$"):
            os._exit(0)
    assert [getattr(os, name) for name in NAMES] == before


def test_replayed(tmp_path, capsys):
    """Is violated, code 1, also where the file took the function as its own."""
    for text in (LEAVES, "from os import _exit as leave\n" + CALLS.format("leave(0)")):
        path = written(tmp_path, text)
        assert main([str(path), "values.dense_exact", repr(CASE), "--engine", "ttir"]) == 1
        assert "Violation: fused_sconv called os._exit(0) on a case that" in capsys.readouterr().out


def test_in_the_run_of_one_process(tmp_path):
    """Is violated, code 1, and the run goes on to its end."""
    code, printed = called(
        "--candidate", str(written(tmp_path, LEAVES)), "tests/test_values.py::test_dense_exact[fp32]"
    )
    assert code == 1, printed
    assert "violated   values.dense_exact" in printed


def test_while_a_failure_is_explained(tmp_path):
    """Ends nothing either: a call that goes well the first time only."""
    text = CALLS.format("out += 1; globals().setdefault('seen', []).append(1); len(seen) > 1 and os._exit(0)")
    ops = Engine().bind(load(str(written(tmp_path, text))))
    with pytest.raises(Violation) as caught:
        values.dense_exact(ops, CASE)
    assert "made again, the call raised Leaving: os._exit(0)" in caught.value.explain().but


def test_no_script(tmp_path):
    """Is written, since it would end as the call does."""
    ops = Engine().bind(load(str(written(tmp_path, LEAVES))))
    with pytest.raises(Violation) as caught:
        values.dense_exact(ops, CASE)
    with pytest.raises(Unwritable, match=r"^a script would end where the call ends the process"):
        reproduce(ops, caught.value)
