"""Calls: one call of `fused_sconv` as it was made, and what the contract says of its rows, read off its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from properties.memory import Guarded
from properties.tensors import Batch
from properties.ttir import Accesses
from properties.verdict import Source, Tap

# makes a call with these arguments again: its result, and who touched what, where the engine sees that
Rerun = Callable[[Mapping[str, Any]], tuple[Any, Accesses | None]]


@dataclass(frozen=True)
class Entry:
    """An entry of the block table or of the rows' metadata of a call, and in words what it led to."""

    name: str
    index: tuple[int, ...]
    words: str


@dataclass
class Call:
    """The arguments of a call, where they lie, and what their memory held before it, where that is known.

    The memory must still be there, and nobody else's: a call is made again in place to find a cause.
    """

    arguments: Mapping[str, Any]
    guarded: Mapping[str, Guarded] = field(default_factory=dict)  # those whose view is an argument, by its name

    @classmethod
    def of(cls, batch: Batch) -> Call:
        """The call of a batch."""
        own = {name: one for name, one in batch.guarded.items() if batch.arguments.get(name) is one.view}
        return cls(batch.arguments, own)

    def rewind(self) -> None:
        """Puts back what memory held before the call."""
        for one in self.guarded.values():
            one.memory.copy_(one.before)

    def before(self, name: str) -> torch.Tensor:
        """What an argument held before the call, on the host."""
        one = self.guarded.get(name)
        tensor: torch.Tensor = self.arguments[name]
        if one is None:
            return tensor.detach().cpu()
        if one.memory is one.view:
            return one.before.cpu()
        return one.before.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).cpu()

    @property
    def W(self) -> int:
        """Taps."""
        return int(self.arguments["weight"].shape[1])

    @property
    def follows(self) -> tuple[Any, Any]:
        """What becomes of the sum of the taps: the activation, and whether the row's own input is added."""
        return self.arguments["activation"], self.arguments["use_residual"]

    def _at(self, name: str, row: int) -> int:
        return int(self.before(name)[row])

    def slot(self, row: int) -> int:
        """The slot of a row."""
        return self._at("slot_mapping", row)

    def stored_at(self, row: int, channel: int) -> tuple[int, int, int, int]:
        """The element of the cache that a row with a slot stores a channel to."""
        block, offset = divmod(self.slot(row), int(self.arguments["block_size"]))
        head, d = divmod(channel, int(self.arguments["ws"]))
        return block, head, offset, d + int(self.arguments["off_s"])

    def row_at(self, index: tuple[int, ...]) -> tuple[int, int] | None:
        """The row that is stored at an element of the cache, and its channel; None where none of the forward is."""
        block, head, offset, d = index
        ws, channel = int(self.arguments["ws"]), d - int(self.arguments["off_s"])
        rows = (self.before("slot_mapping") == block * int(self.arguments["block_size"]) + offset).nonzero().flatten()
        return (int(rows[0]), head * ws + channel) if len(rows) and 0 <= channel < ws else None

    def first_row(self, row: int) -> int:
        """The first row of a row's request."""
        return self._at("query_start", row)

    def meant(self, row: int, channel: int) -> tuple[Tap, ...]:
        """Where each tap of an output element comes from, oldest first."""
        W, ws, N = self.W, int(self.arguments["ws"]), int(self.arguments["block_size"])
        taps = []
        for tap in range(W):
            back = W - 1 - tap
            if self.slot(row) < 0:
                taps.append(Tap(tap, Source("nothing")))
                continue
            position = self._at("positions", row) - back
            if position < 0:
                source = Source("nothing", position)
            elif row - back >= self.first_row(row):
                source = Source("x", position, row=row - back, channel=channel)
            else:
                block = int(self.before("block_table")[self._at("seq_idx", row), position // N])
                head, d = divmod(channel, ws)
                d += int(self.arguments["off_s"])
                source = Source("cache", position, block=block, offset=position % N, head=head, d=d)
            taps.append(Tap(tap, source))
        return tuple(taps)

    def holder(self, block: int, offset: int, row: int) -> str:
        """Whose a token of the cache is, in words, as `row`'s request sees it, whose own is told first."""
        N = int(self.arguments["block_size"])
        slots, table = self.before("slot_mapping"), self.before("block_table")
        own = self._at("seq_idx", row) if self.slot(row) >= 0 else None
        for other in (slots == block * N + offset).nonzero().flatten().tolist():
            return f"the slot of x[{other}], which this forward stores"
        others = ""
        for owner, (start, last) in sorted(self._spans().items(), key=lambda one: one[0] != own):
            whose = f"request {owner}'s " if owner != own else ""
            first, beside = max(0, start - self.W + 1), ""
            columns = (table[owner, first // N : last // N + 1] == block).nonzero().flatten().tolist()
            for position in ((first // N + column) * N + offset for column in columns):
                if first <= position < start:
                    return f"{whose}position {position}"
                where = "outside of the window" if position < start else "of a row without a slot"
                beside = (
                    beside or f"{whose}position {position}, {where if position <= last else 'beyond its last slot'}"
                )
            if owner == own and beside:
                return beside
            others = others or beside
        return others or ("no request's" if bool((slots >= 0).all()) else "of no row with a slot")

    def _spans(self) -> dict[int, tuple[int, int]]:
        """The positions of each request's first row and of its last one with a slot, by its number."""
        slots, positions = self.before("slot_mapping"), self.before("positions")
        owners, firsts = self.before("seq_idx"), self.before("query_start")
        spans: dict[int, tuple[int, int]] = {}
        for row in (slots >= 0).nonzero().flatten().tolist():
            start = int(positions[row]) - (row - int(firsts[row]))
            spans[int(owners[row])] = start, int(positions[row])
        return spans

    def source(self, name: str, index: tuple[int, ...], row: int, channel: int) -> Source:
        """An element of `x` or `cache`, as a tap of an output element, and what is strange about it."""
        if name == "x":
            return self._row(index, row, channel)
        ws, off_s = int(self.arguments["ws"]), int(self.arguments["off_s"])
        block, head, offset, d = index
        notes = [self.holder(block, offset, row)]
        if head != channel // ws:
            notes.append(f"head {head}")
        if not off_s <= d < off_s + ws:
            notes.append(f"d = {d}, outside of the stream's {off_s} to {off_s + ws - 1}")
        elif d - off_s != channel % ws:
            notes.append(f"d = {d}, channel {d - off_s} of the head")
        return Source("cache", block=block, offset=offset, head=head, d=d, note=", ".join(notes))

    def _row(self, index: tuple[int, ...], row: int, channel: int) -> Source:
        other, its_channel = index
        notes = []
        if self.slot(other) < 0:
            notes.append("a row without a slot")
        elif self.slot(row) >= 0 and self._at("seq_idx", other) != self._at("seq_idx", row):
            notes.append(f"request {self._at('seq_idx', other)}'s")
        if its_channel != channel:
            notes.append(f"channel {its_channel}")
        position = self._at("positions", other) if self.slot(other) >= 0 else None
        return Source("x", position, row=other, channel=its_channel, note=", ".join(notes))
