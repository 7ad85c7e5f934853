"""How many workers there are, and the GPU of each: pure functions, and what a run's workers see in the end."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from properties.engines import gpus
from properties.workers import GIB, VISIBLE, Host, entries, host, pins, room
from tests import devices
from tests.meta.outside import environment
from tests.meta.test_command_line import ROOT


@pytest.mark.parametrize(
    ("there", "count"),
    [
        (Host(2, 23), 2),
        (Host(64, 15), 10),  # memory is scarcer than cores
        (Host(1, 0.5), 1),  # never none
        (Host(16, 128, (139.8,)), 16),
        (Host(128, 560, (139.8,) * 8), 128),
        (Host(128, 60, (139.8,) * 8), 20),
        (Host(64, 512, (8.0, 8.0)), 8),  # small GPUs are what is scarce
        (Host(64, 512, (1.5,)), 1),
    ],
)
def test_the_room(there, count):
    """Is what the scarcest of cores, memory and the memory of GPUs allows."""
    assert room(there) == count


@pytest.mark.parametrize(
    ("variable", "count", "expected"),
    [
        (None, 0, []),
        (None, 3, ["0", "1", "2"]),
        ("", 0, []),
        ("5", 1, ["5"]),
        ("2, 5", 2, ["2", "5"]),
        ("0,-1,1", 1, ["0"]),  # CUDA stops at the first that is none
        ("GPU-8932f937-d72c,GPU-5d3a", 2, ["GPU-8932f937-d72c", "GPU-5d3a"]),
        ("MIG-GPU-8932f937/1/0", 1, ["MIG-GPU-8932f937/1/0"]),
        ("NoDevFiles", 0, []),
    ],
)
def test_entries(variable, count, expected):
    """Are the caller's own, as many as CUDA accepts."""
    assert entries(variable, count) == expected


def test_pins():
    """Go round, so that several workers share a GPU and none has one more than the others."""
    assert pins(5, ["4", "7"]) == ["4", "7", "4", "7", "4"]
    assert pins(1, ["4", "7"]) == ["4"]
    assert pins(2, []) == [None, None]


def test_the_host(tmp_path):
    """Is bounded by what its cgroup allows, whatever the machine has."""
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 99 kB\nMemAvailable:    3145728 kB\n")
    assert host((), tmp_path).memory == min(3.0, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB)
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("50000 100000\n")
    (tmp_path / "sys/fs/cgroup/memory.max").write_text(f"{GIB // 2}\n")
    assert host((4.0,), tmp_path) == Host(1.0, 0.5, (4.0,))
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("max 100000\n")
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("max\n")
    assert host((), tmp_path) == Host(len(os.sched_getaffinity(0)), host((), tmp_path).memory)


def test_an_engine_without_a_gpu():
    """Runs on none, whatever the host has; a name that is none is refused later, in one line."""
    assert gpus("ttir") == gpus("interpreter") == gpus("no such engine") == ()


def test_specifications(monkeypatch):
    """Get the pin of workers on this host; those of others know their own GPUs."""
    monkeypatch.setenv(VISIBLE, "GPU-a,GPU-b")
    monkeypatch.setattr(devices, "gpus", lambda name: (80.0, 80.0))
    specs = [SimpleNamespace(popen=popen, env={}) for popen in (True, False, True, True)]
    config = SimpleNamespace(getoption=lambda name: "cuda")
    devices.pytest_xdist_setupnodes(config, specs)  # type: ignore[arg-type]  # all that it asks of a configuration
    assert [spec.env.get(VISIBLE) for spec in specs] == ["GPU-a", None, "GPU-b", "GPU-a"]


def test_before_torch_is_there(tmp_path):
    """A worker has its pin before anything of the judge's is imported, and so has the one that replaces it."""
    (tmp_path / "early.py").write_text(
        "import os, sys\n"
        "if 'PYTEST_XDIST_WORKER' in os.environ:\n"
        f"    print(os.environ.get('{VISIBLE}'), 'torch' in sys.modules, file=open(os.environ['SEEN'], 'a'))\n"
    )
    (tmp_path / "plugin.py").write_text(
        "from tests import devices\nfrom tests.devices import *\ndevices.gpus = lambda name: (80.0, 80.0)\n"
        "def pytest_addoption(parser):\n    parser.addoption('--engine', default='cuda')\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text("import early\npytest_plugins = ['plugin']\n")
    (tmp_path / "test_one.py").write_text(
        "import os\ndef test_leaves():\n    os._exit(3)\ndef test_stays():\n    pass\n"
    )
    seen = tmp_path / "seen"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "test_one.py"],
        cwd=tmp_path,
        env=environment(PYTHONPATH=f"{tmp_path}:{ROOT}", SEEN=str(seen), **{VISIBLE: "6,3"}),
        capture_output=True,
        text=True,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    first, second, third = sorted(seen.read_text().splitlines())
    assert {first, third} == {"3 False", "6 False"}
    assert second in (first, third)
