"""Which integers are read as unsigned: TTIR's sums have no sign, their readers have."""

from __future__ import annotations

from .program import Function, Operation, Region

UNSIGNED_READERS = (
    "arith.extui",
    "arith.divui",
    "arith.remui",
    "arith.shrui",
    "arith.uitofp",
    "arith.maxui",
    "arith.minui",
    "arith.ceildivui",
    "arith.index_castui",
    "tt.mulhiui",
)
# results of these are read as their own results are
PASSING = (
    "arith.addi",
    "arith.subi",
    "arith.muli",
    "arith.shli",
    "arith.select",
    "arith.trunci",
    "tt.splat",
    "tt.broadcast",
    "tt.expand_dims",
    "tt.reshape",
    "tt.trans",
)


def unsigned_slots(function: Function) -> frozenset[int]:
    """Returns the slots that have readers, all of which take them, or what becomes of them, as unsigned."""
    readers: dict[int, list[Operation]] = {}
    _collect(function.body, readers)
    known: dict[int, bool] = {}

    def is_unsigned(slot: int) -> bool:
        if slot not in known:
            known[slot] = False  # a cycle through a loop counts as signed
            found = readers.get(slot, [])
            known[slot] = bool(found) and all(_reads_unsigned(operation, slot) for operation in found)
        return known[slot]

    def _reads_unsigned(operation: Operation, slot: int) -> bool:
        if operation.name in UNSIGNED_READERS:
            return True
        if operation.name == "arith.cmpi":
            # equality has no sign, and never decides alone
            return operation.words[0][0] == "u" or operation.words[0] in ("eq", "ne")
        return operation.name in PASSING and is_unsigned(operation.results[0])

    return frozenset(slot for slot in readers if is_unsigned(slot))


def _collect(region: Region, readers: dict[int, list[Operation]]) -> None:
    for block in region.blocks:
        for operation in block.operations:
            for slot in operation.operands:
                readers.setdefault(slot, []).append(operation)
            for _, slots in operation.successors:
                for slot in slots:
                    readers.setdefault(slot, []).append(operation)
            for inner in operation.regions:
                _collect(inner, readers)
