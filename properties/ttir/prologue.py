"""What a launch computes from scalars and program ids alone: run once, and remembered for the same scalars.

The same kernel is launched with the same sizes over and over (every run of a comparison, every stream, every
replay); a third of its operations then give what they gave before.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .pointers import Pointer
from .program import Operation
from .run import Frame

PURE_DIALECTS = ("arith", "math", "machine")
PURE = {
    "tt.addptr",
    "tt.bitcast",
    "tt.broadcast",
    "tt.clampf",
    "tt.expand_dims",
    "tt.fp_to_fp",
    "tt.get_num_programs",
    "tt.get_program_id",
    "tt.make_range",
    "tt.mulhiui",
    "tt.reshape",
    "tt.splat",
    "tt.trans",
}
# entries of one plan, and bytes of one entry; more would hold memory for launches that do not come back
ENTRIES = 16
ENTRY_BYTES = 1 << 22

Snapshot = tuple[list[Any], list[Any]]


def is_pure(operation: Operation) -> bool:
    """Says whether an operation's results follow from its operands, the grid and the program alone."""
    return operation.name in PURE or operation.name.split(".")[0] in PURE_DIALECTS


class Memory:
    """Snapshots of a frame after its prologue, by scalars, grid and chunk."""

    def __init__(self, slots: list[int]) -> None:
        self.slots = slots
        self.entries: OrderedDict[Any, Snapshot] = OrderedDict()

    def find(self, key: Any) -> Snapshot | None:
        found = self.entries.get(key)
        if found is not None:
            self.entries.move_to_end(key)
        return found

    def keep(self, key: Any, frame: Frame) -> None:
        """Remembers a frame, unless it holds taint, which belongs to its launch, or is large."""
        total = 0
        for slot in self.slots:
            if frame.taint[slot] is not None:
                return
            data = frame.data[slot]
            total += sum(part.nbytes for part in data.parts) if type(data) is Pointer else data.nbytes
        if total > ENTRY_BYTES:
            return
        self.entries[key] = (frame.data.copy(), frame.ranges.copy())
        if len(self.entries) > ENTRIES:
            self.entries.popitem(last=False)
