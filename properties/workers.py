"""How many workers a host has room for, and which GPU each of them sees; docs/workers.md has the measurements."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

VISIBLE = "CUDA_VISIBLE_DEVICES"
GIB = 2**30
MEMORY, MEMORY_WITH_GPU = 1.5, 3.0  # GiB of the host for a worker
GPU_MEMORY = 1.0  # GiB of its GPU: a context and cases
SHARED_OUT = 0.5  # of a GPU's memory: the rest is for the one worker that holds gigabytes (turns.py)


@dataclass(frozen=True)
class Host:
    """What workers share: cores, GiB of memory that are available, and the GiB of each GPU."""

    cores: float
    memory: float
    gpus: tuple[float, ...] = ()


def room(host: Host) -> int:
    """How many workers a host has room for, at least one."""
    allowed = [int(host.cores), int(host.memory / (MEMORY_WITH_GPU if host.gpus else MEMORY))]
    if host.gpus:
        allowed.append(sum(max(1, int(SHARED_OUT * memory / GPU_MEMORY)) for memory in host.gpus))
    return max(1, min(allowed))


def entries(variable: str | None, count: int) -> list[str]:
    """What CUDA_VISIBLE_DEVICES says for each GPU alone; `variable` is the caller's, `count` what CUDA makes of it.

    CUDA takes entries in order up to the first that it does not know, so the first `count` are those that name one.
    """
    if variable is None:
        return [str(index) for index in range(count)]
    return [entry.strip() for entry in variable.split(",")][:count]


def pins(workers: int, gpus: Sequence[str]) -> list[str | None]:
    """The CUDA_VISIBLE_DEVICES of each worker, one GPU after the other; None leaves it as it is where there is none."""
    return [gpus[worker % len(gpus)] if gpus else None for worker in range(workers)]


def host(gpus: tuple[float, ...], root: Path = Path("/")) -> Host:
    """The cores and the memory that this process may use; `gpus` are the engine's to say."""
    cores = [float(len(os.sched_getaffinity(0)))]
    quota, _, period = _read(root / "sys/fs/cgroup/cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit():
        cores.append(math.ceil(int(quota) / int(period)))
    memory = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for line in _read(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            memory.append(int(line.split()[1]) * 1024)
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # of cgroups 2 and 1
        if (limit := _read(root / "sys/fs/cgroup" / name)).isdigit():
            memory.append(int(limit))
    return Host(min(cores), min(memory) / GIB, gpus)


def _read(path: Path) -> str:
    """What a file of the kernel's says, nothing where there is none."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
