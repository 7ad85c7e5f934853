"""What a replay owes in an element of a buffer, and what is there instead, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from properties.buckets import MADE, METADATA, Buffers
from properties.calls import Call
from properties.contents import bits
from properties.explain import sum_words
from properties.replays import Replays


@dataclass
class Told:
    """One replay: the eager run's buffers, those before the replay, and what earlier runs of the same graph gave."""

    case: Replays
    eager: Buffers
    before: Buffers
    bucket: int
    earlier: Mapping[str, list[torch.Tensor]] = field(default_factory=dict)
    now: Sequence[torch.Tensor] = ()  # the outputs of all streams

    def _stream(self, what: str) -> int:
        return int(what.rsplit(" ", 1)[-1]) if what[-1].isdigit() else 0

    def call(self, what: str) -> Call:
        """The call of the stream that `out of stream 3` is of."""
        index = self._stream(what)
        parts = [(layer, part) for layer, parts in enumerate(self.case.streams(0)) for part in parts]
        layer, part = parts[index]
        rows = {name: self.eager.metadata[name][: self.bucket] for name in METADATA}
        geometry = part.geometry
        return Call(
            {
                "x": self.eager.x[index][: self.bucket],
                "weight": self.eager.weight[index],
                "cache": self.eager.caches[layer],
                "block_table": self.eager.block_table,
                **rows,
                "off_s": geometry.off_s,
                "ws": geometry.ws,
                "block_size": geometry.N,
                "activation": part.activation,
                "use_residual": part.use_residual,
            }
        )

    def owed(self, what: str, where: tuple[int, ...]) -> str:
        """What the contract says of an element."""
        if what.startswith("out"):
            call = self.call(what)
            if (slot := call.slot(where[0])) < 0:
                return f"row {where[0]} has slot {slot}: it has no taps and stores nothing"
            position = int(self.eager.metadata["positions"][where[0]])
            words = sum_words(position, call.meant(*where), *call.follows)
            return f"a replay reads what the buffers hold now: {words}"
        if what.startswith("cache"):
            slot = where[0] * self.case.forwards[0].geometry.N + where[2]
            rows = self._rows_at(slot)
            if rows:
                return f"row {rows[0]} has slot {slot}, so x[{rows[0]}] is stored there"
            return f"no row has slot {slot}, so what is there stays"
        if what in MADE:
            owner = int(self.eager.metadata["seq_idx"][where[0]])
            return f"row {where[0]} belongs to request {owner}, by the query_start_loc that the buffers hold now"
        return f"{what.split(' ')[0]} is an input, which a step must not write"

    def found(self, what: str, where: tuple[int, ...], got: torch.Tensor) -> str:
        """What is there instead, where that is known."""
        if what.startswith("out"):
            return self._stale(self._stream(what), got)
        if what in METADATA and int(got[where]) == int(self.before.metadata[what][where]):
            return "it holds what it held before: the replay has not written it"
        if what in METADATA and int(self.eager.metadata[what][where]) == int(self.before.metadata[what][where]):
            return "the eager run left what was there, the replay has written it"
        if not what.startswith("cache"):
            return "the replay has written it"
        layer = self._stream(what)
        if bool(bits(got[where].view(1)) == bits(self.before.caches[layer][where].view(1))):
            return "it holds what it held before: nothing was stored there"
        return self._stored(layer, where, got)

    def _stale(self, stream: int, got: torch.Tensor) -> str:
        for other, out in enumerate(self.now):
            if other != stream and out.data_ptr() == got.data_ptr():
                return f"it lies where out of stream {other} does: what is returned is overwritten by the next call"
        for words, outputs in self.earlier.items():
            if stream < len(outputs) and torch.equal(bits(outputs[stream]), bits(got)):
                return f"all of it is what {words} gave: the replay does not read what was refilled"
        return "it is NaN, as memory that no kernel has written" if bool(got.isnan().all()) else ""

    def _stored(self, layer: int, where: tuple[int, ...], got: torch.Tensor) -> str:
        """Which row's input lies there, if one alone has that value."""
        _, head, _, d = where
        parts = list(enumerate(self.case.streams(0)[layer]))
        for number, part in parts:
            geometry = part.geometry
            if not geometry.off_s <= d < geometry.off_s + geometry.ws:
                continue
            x = self.eager.x[layer * len(parts) + number][: self.bucket, head * geometry.ws + d - geometry.off_s]
            rows = (bits(x) == bits(got[where].view(1))).nonzero().flatten().tolist()
            slots = self.eager.metadata["slot_mapping"]
            if len(rows) == 1:
                slot = int(slots[rows[0]])
                which = f"belongs at slot {slot}" if slot >= 0 else f"has slot {slot} and must not be stored"
                return f"it holds x[{rows[0]}], which {which}"
        return ""

    def _rows_at(self, slot: int) -> list[int]:
        found: list[int] = (self.eager.metadata["slot_mapping"][: self.bucket] == slot).nonzero().flatten().tolist()
        return found
