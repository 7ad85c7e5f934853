"""Scripts as their readers run them: from whatever folder, under the machine, with another kernel."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from properties.cases import Forward, Geometry
from properties.engines import choose
from properties.engines.base import Ops
from properties.invariants import values
from properties.reproducer import write
from tests.meta.test_command_line import ROOT
from tests.meta.test_reproducers import SCONV, from_file, of_case

SOURCE = "import sconv\nfused_sconv = lambda **given: sconv.fused_sconv(**given) + 1\n"


def written(folder: Path, ops: Ops) -> Path:
    """The script of a kernel that is wrong everywhere."""
    found = of_case(ops, values.dense_exact, Forward(Geometry(W=2)))
    assert found is not None
    return write(folder, ops, found)


def ran(*words: str) -> tuple[int, str]:
    """Exit code and output of Python with these words, from the checkout."""
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout


def test_as_a_reader_of_a_pull_request_runs_it(tmp_path):
    """Runs as the script itself says: alone, under the machine, with another kernel, with a wrong path."""
    kernel = tmp_path / "kernel.py"
    ops = from_file(kernel, SOURCE, choose("ttir"))
    path = written(tmp_path, ops)
    assert path == tmp_path / "repro_values_dense_exact.py"
    code, printed = ran("-m", "properties.ttir", str(path))
    assert (code, "values.dense_exact is violated" in printed) == (1, True)
    code, printed = ran("-m", "properties.ttir", str(path), SCONV)
    assert (code, printed) == (0, "values.dense_exact holds in this case\n")
    code, printed = ran(str(path), "no.py")
    assert (code, printed) == (2, "there is no kernel file no.py\n")


def test_a_module_in_place_of_a_file(tmp_path):
    """Is imported from the folder at hand; one that is not there is told in a line."""
    ops = from_file(tmp_path / "kernel.py", SOURCE, choose("ttir"))
    path = written(tmp_path, ops)
    code, printed = ran("-m", "properties.ttir", str(path), "sconv")
    assert (code, printed) == (0, "values.dense_exact holds in this case\n")
    code, printed = ran(str(path), "sconv.faulty")
    words = "sconv.faulty is no module that can be imported in "
    assert (code, printed.count("\n"), printed.startswith(words)) == (2, 1, True)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here: the script runs")
def test_the_hint_without_a_gpu(tmp_path):
    """Is a command that works in the checkout, wherever the script was called and by whatever path."""
    ops = from_file(tmp_path / "my kernel.py", SOURCE, choose("ttir"))
    path = written(tmp_path, ops)
    done = subprocess.run(
        [sys.executable, path.name, "my kernel.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    hint = done.stdout.removeprefix("no GPU here; in a checkout of the judge: python ")
    assert (done.returncode, hint != done.stdout) == (2, True), done.stdout + done.stderr
    code, printed = ran(*shlex.split(hint))
    assert (code, "values.dense_exact is violated" in printed) == (1, True)
