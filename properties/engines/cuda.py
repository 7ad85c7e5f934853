"""The cuda engine: compiled kernels on a GPU; sees values, red zones and poison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import torch

from properties.engines.base import Engine
from properties.engines.ferry import Ferry, travels
from properties.engines.filling import filled_memory
from properties.engines.recording import Graphed, Recording
from properties.ttir import frontend
from properties.workers import GIB


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

    @staticmethod
    def memories() -> tuple[float, ...]:
        """The GiB of each GPU that CUDA shows this process."""
        count = torch.cuda.device_count()
        return tuple(torch.cuda.get_device_properties(index).total_memory / GIB for index in range(count))

    def __init__(self) -> None:
        frontend.count_compilations()
        self._ferry: Ferry | None = None
        self._staging = torch.empty(0, dtype=torch.uint8)

    def _staged(self, size: int) -> torch.Tensor:
        """Pinned memory of so many bytes, the same from call to call."""
        if self._staging.numel() < size:
            self._staging = torch.empty(2 * size, dtype=torch.uint8, pin_memory=True)
        return self._staging[:size]

    @contextmanager
    def carried(self, given: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Host tensors, in one copy there and one back; tensors that are on the GPU stay where they are."""
        host = [one for one in given.values() if travels(one)]
        self._ferry = None
        if not host:
            yield given
            return
        ferry = self._ferry = Ferry(host, self.device, self._staged)
        try:
            yield {name: self._there(ferry, one) for name, one in given.items()}
        except BaseException:
            with suppress(RuntimeError):  # a dead CUDA context has no more to tell
                ferry.back()
            raise
        ferry.back()

    def _there(self, ferry: Ferry, value: Any) -> Any:
        if travels(value):
            return ferry.view(value)
        return value.to(self.device) if isinstance(value, torch.Tensor) else value

    def address(self, tensor: torch.Tensor) -> int:
        """That of the argument at home, for memory of the call's arguments."""
        home = self._ferry.home(tensor) if self._ferry else None
        return super().address(tensor) if home is None else home

    def title(self) -> str:
        """Engine, GPU and driver in words."""
        major, minor = torch.cuda.get_device_capability(0)
        return f"cuda on {torch.cuda.get_device_name(0)} (sm_{major}{minor})"

    def specialisations(self) -> int:
        """How many kernels Triton has compiled in this process, or loaded from its disk cache."""
        return frontend.compiled_kernels()

    def is_lost(self) -> bool:
        """Whether the CUDA context is broken, as it is for good after an illegal access or a device assert."""
        try:
            if torch.cuda.is_initialized() and not torch.cuda.is_current_stream_capturing():
                torch.cuda.synchronize()  # would end a capture
        except RuntimeError:
            return True
        return False

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
