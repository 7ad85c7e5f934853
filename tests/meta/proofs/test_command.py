"""The command: what it prints, and how it ends where the request is wrong."""

from __future__ import annotations

import importlib.util
import subprocess

import pytest

pytest.importorskip("z3", reason="proofs need z3-solver, which is not installed")

from properties.proofs import requests
from properties.proofs.__main__ import main
from properties.proofs.axioms import AXIOMS
from properties.proofs.prove import METADATA, OBLIGATIONS
from tests.meta.proofs.faults import INDEXING, TILED
from tests.meta.upstream_faults import UPSTREAM

TINY = "Geometry(H=1, ws=2, N=2, W=2, off_s=1, D=4)"


def test_prints_every_obligation_and_every_assumption(capsys, monkeypatch):
    """Each obligation has a verdict, each axiom is named, and the exit code says that all is proved."""
    monkeypatch.setattr(requests, "MOST_REQUESTS", 8)
    assert main([TILED, "--geometry", "Geometry(ws=2, N=2, D=4)"]) == 0
    lines = capsys.readouterr().out.splitlines()
    proved = [line.split()[1] for line in lines if line.startswith("proved")]
    assert proved == [one.name for one in (*OBLIGATIONS, METADATA)]
    assert all(any(line.startswith(f"  {name} ") for line in lines) for name in AXIOMS)


@pytest.mark.skipif(not UPSTREAM.is_file(), reason=f"judges {UPSTREAM}, which is not here")
def test_prints_the_command_that_shows_a_violation(tmp_path, capsys):
    """A violation comes with the case that the machine confirms, and ends with 1."""
    path = INDEXING["query_start compared off by one"].write("off by one", tmp_path)
    assert main([str(path), "--geometry", TINY, "--obligation", "taps"]) == 1
    printed = capsys.readouterr().out
    command = printed.split("confirmed: ")[1].splitlines()[0]
    shown = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert shown.returncode == 1, shown.stderr
    assert shown.stdout.startswith("Violation: out[")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no_such_file.py"], "no_such_file.py"),
        (["--geometry", "tiny"], "--geometry is 'tiny', but must be small, real, inkling-global"),
        (["--geometry", "Geometry(H=0)"], "Geometry.H is 0"),
        (["--geometry", "Geometry(w=0)"], "did you mean"),
        (["--obligation", "races"], "must be one of accesses, conflicts, taps, wraps, metadata"),
        (["--geometry", "Request()"], "or a Geometry(...)"),
    ],
)
def test_a_wrong_request_is_one_line(arguments, words, capsys):
    """What is wrong is named in one line, with exit code 4."""
    assert main(arguments) == 4
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1


def test_without_the_solver_one_line_says_so(monkeypatch, capsys):
    """Nothing else of the project needs z3, so its absence is told, not a traceback."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main([]) == 4
    assert capsys.readouterr().err == "ERROR: proofs need z3: `make judge` installs it, or pip install z3-solver\n"
