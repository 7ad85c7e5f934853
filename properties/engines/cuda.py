"""The cuda engine: compiled kernels on a GPU; sees values, red zones and poison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from properties.engines.base import Engine, filled_memory
from properties.engines.recording import Graphed, Recording
from properties.ttir import frontend


class Cuda(Engine):
    """Runs kernels as Triton compiles them for the GPU of this process."""

    name = "cuda"
    no_graphs = ""
    device = "cuda:0"

    @classmethod
    def unusable(cls) -> str | None:
        """Why no GPU is usable, or None."""
        if not torch.cuda.is_available():
            return "torch sees no CUDA GPU"
        return None

    def __init__(self) -> None:
        frontend.count_compilations()

    def title(self) -> str:
        """Engine, GPU and driver in words."""
        major, minor = torch.cuda.get_device_capability(0)
        return f"cuda on {torch.cuda.get_device_name(0)} (sm_{major}{minor})"

    def specialisations(self) -> int:
        """How many kernels Triton has compiled in this process, or loaded from its disk cache."""
        return frontend.compiled_kernels()

    @contextmanager
    def running(self, read_only: list[torch.Tensor]) -> Iterator[Any]:
        """Waits for the GPU, so that an error belongs to the call that made it."""
        with filled_memory():
            yield None
            if not torch.cuda.is_current_stream_capturing():
                torch.cuda.synchronize()

    def pool(self) -> Any:
        """A memory pool for graphs."""
        return torch.cuda.graph_pool_handle()

    def capture(self, region: Callable[[], Any], pool: Any) -> Recording:
        """Captures a CUDA graph."""
        return Graphed(region, pool)
