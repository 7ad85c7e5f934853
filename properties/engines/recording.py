"""Captured regions: run again on refilled buffers, by a CUDA graph or by the tape of a region run on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import torch

from properties.ttir import Launch, Machine, Tape


class Recording:
    """A region as it was captured: `result` is what it returned, in memory that every replay writes again."""

    result: Any = None
    launches: Sequence[Launch] = ()  # on the engine that sees them

    def replay(self) -> Machine | None:
        """Runs the region again; returns the machine that saw it, on the engine that has one."""
        raise NotImplementedError


class Taped(Recording):
    """A region on the host: its tensor operations and launches, noted in order."""

    def __init__(self, region: Callable[[], Any]) -> None:
        with Tape() as self.tape:
            self.result = region()
        self.launches = self.tape.launches
        self.tape.forget()

    def replay(self) -> Machine | None:
        """Runs the launches on a machine, all checks on."""
        with Machine() as machine:
            self.tape.replay(machine.replay)
        return machine


class Graphed(Recording):
    """A CUDA graph; graphs of one `pool` share memory, as the bucket sizes of a serving engine do."""

    def __init__(self, region: Callable[[], Any], pool: Any) -> None:
        self.graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        # torch.cuda.graph would collect garbage and empty the allocator each time, which takes longer than all else
        with torch.cuda.stream(stream):
            self.graph.capture_begin(pool=pool)
            try:
                self.result = region()
            except BaseException:
                with suppress(RuntimeError):  # what ended the region has made the capture invalid
                    self.graph.capture_end()
                raise
            self.graph.capture_end()
        torch.cuda.synchronize()

    def replay(self) -> Machine | None:
        """Replays, and waits for the GPU."""
        self.graph.replay()
        torch.cuda.synchronize()
        return None
