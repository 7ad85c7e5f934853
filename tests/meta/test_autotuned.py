"""Autotuned candidates: every configuration is judged, and the one that fails is named."""

from __future__ import annotations

import re

import pytest

from properties import configurations
from properties.replay import main
from tests.meta.candidates.tuned import write_tuned
from tests.meta.test_command_line import called

CASE = "Forward(geometry=Geometry(W=2), requests=(Request(length=3),))"
WITH = r"With:  copied in the configuration BLOCK=8, num_warps=2, one of 4\n"


def test_every_configuration_is_judged(tmp_path):
    """Runs each configuration in many cases and counts them; what prune hooks take away is told."""
    test = "tests/test_values.py::test_dense_exact[fp32]"
    seed = ("--hypothesis-seed", "1")  # how often each is drawn must not turn on luck
    code, printed = called("--candidate", str(write_tuned(tmp_path)), "--engine", "ttir", *seed, test)
    assert code == 0, printed
    lines = dict(re.findall(r"autotuned  copied: (BLOCK=\d+)(?:, num_warps=\d)?: (.*)", printed))
    assert list(lines) == ["BLOCK=4", "BLOCK=8", "BLOCK=16", "BLOCK=65536"]
    assert all(int(lines[f"BLOCK={size}"].removesuffix(" launches")) >= 3 for size in (4, 8, 16))


@pytest.mark.parametrize(
    ("engine", "test"),
    [("ttir", "test_dense_exact[fp32]"), ("ttir", "test_dense_bound[fp32]"), ("interpreter", "test_dense_exact[fp32]")],
    ids=["pinned", "drawn", "interpreter"],
)
def test_one_wrong_configuration_of_four(engine, test, tmp_path):
    """Is violated, and the violation names the configuration, from pinned and from drawn cases."""
    path = str(write_tuned(tmp_path, wrong=8))
    seed = ("--hypothesis-seed", "1")  # of the drawn cases, a few show the first element
    code, printed = called("--candidate", path, "--engine", engine, *seed, f"tests/test_values.py::{test}")
    assert code == 1
    assert len(re.findall(WITH, printed)) == 1
    assert f"violated   values.{test.removeprefix('test_').removesuffix('[fp32]')}" in printed


def test_replay_tries_every_configuration(tmp_path, capsys):
    """Finds the wrong configuration of a case without being told which it is."""
    assert main([str(write_tuned(tmp_path, wrong=8)), "values.dense_exact", CASE, "--engine", "ttir"]) == 1
    assert re.search(WITH, capsys.readouterr().out)
    assert main([str(write_tuned(tmp_path)), "values.dense_exact", CASE, "--engine", "ttir"]) == 0


def test_a_configuration_that_never_ran_is_no_pass():
    """Tells a configuration that was left but not drawn from one that hooks always take away, over all workers."""
    watch = configurations.Watch()
    watch.seen("kernel", ["a", "b", "c"], ["a", "b"], "a")
    watch.seen("plain", ["only"], ["only"], "only")
    assert configurations.missed() == ["kernel: b"]
    assert configurations.lines()[1:] == [
        "autotuned  kernel: b: never run: not judged",
        "autotuned  kernel: c: always pruned away",
    ]
    configurations.merge({"kernel": {"a": 2, "b": 3, "c": -1}})
    assert configurations.missed() == []
    assert configurations.LAUNCHES == {"kernel": {"a": 3, "b": 3, "c": -1}}
