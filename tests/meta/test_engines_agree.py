"""The same cases on two engines: the same verdicts, and without contraction the same bits."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.meta.outside import environment
from tests.meta.test_command_line import ROOT
from tests.meta.upstream_faults import UPSTREAM
from tests.meta.zoo import ZOO

FAULTY = ("newest_weight_first", "one_step_short", "stores_the_result")  # in ways that leave no memory of a call
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
needs_interpreter = pytest.mark.skipif(
    version("triton").startswith("3.6."),
    reason="Triton 3.6's interpreter makes numbers of arrays, as NumPy 2.4 forbids",
)
PAIRS = [
    pytest.param("ttir", "interpreter", "fp32", id="ttir-interpreter-fp32", marks=needs_interpreter),  # it has no bf16
    *[
        pytest.param("ttir", "cuda", dtype, id=f"ttir-cuda-{dtype}", marks=needs_gpu)
        for dtype in ("bf16", "fp16", "fp32")
    ],
]


def said(engine: str, dtype: str, targets: tuple[str, ...]) -> dict[str, Any]:
    """What an engine says of kernels, in a process of its own."""
    command = [sys.executable, "-m", "tests.meta.agreeing", engine, dtype, *targets]
    outside = environment(**({"TRITON_INTERPRET": "1"} if engine == "interpreter" else {}))
    done = subprocess.run(command, cwd=ROOT, env=outside, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def targets(tmp_path: Path) -> tuple[str, ...]:
    """Our kernel, faulty ones, and the upstream file where it is."""
    faulty = [str(ZOO[name].write(tmp_path)) for name in FAULTY]
    return ("sconv", *faulty, *([str(UPSTREAM)] if UPSTREAM.is_file() else []))


def differing(one: dict[str, str], other: dict[str, str]) -> dict[str, tuple[str, str]]:
    """The cases of which two engines say different things, and what."""
    assert one.keys() == other.keys()
    return {case: (one[case], other[case]) for case in one if one[case] != other[case]}


@pytest.mark.parametrize(("one", "other", "dtype"), PAIRS)
def test_engines_agree(one, other, dtype, targets):
    """Judge each case alike; without contraction and what is transcendental, leave the same output and memory behind.

    Our kernel and the upstream file hold, each faulty one violates something. One test, since it costs two processes.
    """
    found = [said(engine, dtype, targets) for engine in (one, other)]
    for target in targets:
        for what in ("verdicts", "bits"):
            assert differing(*(each[target][what] for each in found)) == {}, (target, what)
        violated = set(found[0][target]["verdicts"].values()) - {"holds"}
        assert bool(violated) == (Path(target).stem in FAULTY), (target, violated)
    ours = found[0]["sconv"]
    assert differing(ours["bits"], ours["contracted"]) != {}, "contraction changes no bit of these cases"
