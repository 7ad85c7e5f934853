"""sconv behind a host wrapper with one fault each, of the kind that only a replayed graph shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

import sconv

Convolution = Callable[..., torch.Tensor]


def is_capturing() -> bool:
    return torch.cuda.is_current_stream_capturing()


@dataclass
class Wrapper:
    """Both operators; `memory` is what a faulty one keeps from call to call."""

    memory: dict[Any, Any] = field(default_factory=dict)

    def fused_sconv(self, *arguments: Any, **named: Any) -> torch.Tensor:
        return sconv.fused_sconv(*arguments, **named)

    def sconv_seq_metadata(self, *arguments: Any, **named: Any) -> None:
        sconv.sconv_seq_metadata(*arguments, **named)


class ActualRowsFrozen(Wrapper):
    """Counts the rows with a slot while it may, and uses the last count in a graph."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        if not is_capturing():
            self.memory["rows"] = int((named["slot_mapping"] >= 0).sum())
        rows = self.memory["rows"]
        out = x.clone() if named["use_residual"] else torch.zeros_like(x)
        for name in ("positions", "seq_idx", "slot_mapping", "query_start"):
            named[name] = named[name][:rows]
        out[:rows] = sconv.fused_sconv(x[:rows], *rest, **named)
        return out


class StaleTail(Wrapper):
    """Rewrites only the rows that were actual when the graph was captured; the tail keeps what it held."""

    def sconv_seq_metadata(
        self,
        query_start_loc: torch.Tensor,
        num_reqs: int,
        num_actual_tokens: int,
        seq_idx_out: torch.Tensor,
        query_start_out: torch.Tensor,
        num_padded_tokens: int | None = None,
    ) -> None:
        if not is_capturing():
            self.memory["actual"] = int(query_start_loc[num_reqs - 1])
        seq_idx, query_start = torch.zeros_like(seq_idx_out), torch.zeros_like(query_start_out)
        sconv.sconv_seq_metadata(query_start_loc, num_reqs, num_actual_tokens, seq_idx, query_start, num_padded_tokens)
        actual = self.memory["actual"]
        seq_idx_out[:actual].copy_(seq_idx[:actual])
        query_start_out[:actual].copy_(query_start[:actual])


class PadsInSlotZero(Wrapper):
    """Stores the first row without a slot to slot 0."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        out = sconv.fused_sconv(x, *rest, **named)
        cache, slots = named["cache"], named["slot_mapping"]
        if len(slots):
            stream = cache[0, :, 0, named["off_s"] : named["off_s"] + named["ws"]]
            stream.copy_(torch.where(slots[-1] < 0, x[-1].view(stream.shape), stream))
        return out


class PadsInStaleSlots(Wrapper):
    """Gives the last row, where it has no slot, the one that its stale position and request had."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        out = sconv.fused_sconv(x, *rest, **named)
        cache, slots, N = named["cache"], named["slot_mapping"], named["block_size"]
        if len(slots):
            position, table = named["positions"][-1:], named["block_table"]
            column = (position // N).clamp(max=table.shape[1] - 1)
            block = table[named["seq_idx"][-1:].long(), column].long().clamp(0, len(cache) - 1)
            stream = cache[..., named["off_s"] : named["off_s"] + named["ws"]]
            old = stream[block, :, position % N]
            stream[block, :, position % N] = torch.where(slots[-1:, None, None] < 0, x[-1].view(old.shape), old)
        return out


class OutputKept(Wrapper):
    """Returns a buffer of its own that it made at the first call of that shape."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        out = sconv.fused_sconv(x, *rest, **named)
        kept = self.memory.setdefault((tuple(x.shape), x.dtype), torch.empty_like(x))
        return kept.copy_(out)


class ReturnsEarly(Wrapper):
    """Asks on the host whether any row has a slot."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        if not bool((named["slot_mapping"] >= 0).any()):
            return x.clone() if named["use_residual"] else torch.zeros_like(x)
        return sconv.fused_sconv(x, *rest, **named)


class SkipsInCapture(Wrapper):
    """Stores nothing while it is captured: works on a copy of the cache then."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        if is_capturing():
            named["cache"] = named["cache"].clone()
        return sconv.fused_sconv(x, *rest, **named)


class FirstResult(Wrapper):
    """Computes once for each shape."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        key = (tuple(x.shape), x.dtype, named["off_s"])
        if key not in self.memory:
            self.memory[key] = sconv.fused_sconv(x, *rest, **named)
        return self.memory[key]


class ReadSwallowed(Wrapper):
    """Reads contents on the host, and goes on when that is refused: the capture is invalid all the same."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        try:
            int(named["slot_mapping"].sum())
        except RuntimeError:
            torch.cuda.is_available()
        return sconv.fused_sconv(x, *rest, **named)


class ClonedInCapture(Wrapper):
    """Keeps a copy of the weight that its first capture should have made; nothing runs while a graph is captured."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        weight = named["weight"]
        if is_capturing():
            weight = self.memory.setdefault(weight.data_ptr(), (weight, weight.clone()))[1]
        return sconv.fused_sconv(x, *rest, **{**named, "weight": weight})


class ScribblesInCapture(Wrapper):
    """Clears x where it is captured."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        out = sconv.fused_sconv(x, *rest, **named)
        if is_capturing():
            x.zero_()
        return out


class InferenceMode(Wrapper):
    """No fault: makes tensors in inference mode."""

    @torch.inference_mode()
    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        return sconv.fused_sconv(x, *rest, **{**named, "weight": named["weight"] * 1})


class LayoutInCapture(Wrapper):
    """No fault: hands another layout of the weight on while it is captured."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        weight = named["weight"].t().contiguous().t() if is_capturing() else named["weight"]
        return sconv.fused_sconv(x, *rest, **{**named, "weight": weight})


class ScalarOnTheHost(Wrapper):
    """No fault: a scalar that stays on the host."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        slots = named["slot_mapping"] * torch.tensor(1)
        return sconv.fused_sconv(x, *rest, **{**named, "slot_mapping": slots})


class ScalarCopied(Wrapper):
    """Chooses between a device's elements and a scalar of the host, which torch.where copies."""

    def fused_sconv(self, x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        slots = named["slot_mapping"]
        return sconv.fused_sconv(x, *rest, **{**named, "slot_mapping": torch.where(slots < 0, torch.tensor(-1), slots)})


# the properties that should see each, any of them
FAULTS: dict[type[Wrapper], tuple[str, ...]] = {
    ActualRowsFrozen: ("piecewise", "full", "breakable"),
    StaleTail: ("full",),
    PadsInSlotZero: ("piecewise",),
    PadsInStaleSlots: ("piecewise",),
    OutputKept: ("full",),
    ReturnsEarly: ("piecewise", "full"),
    SkipsInCapture: ("piecewise", "full"),
    FirstResult: ("piecewise", "full"),
    ReadSwallowed: ("piecewise",),
    ClonedInCapture: ("piecewise",),
    ScribblesInCapture: ("piecewise",),
    ScalarCopied: ("piecewise",),
}
