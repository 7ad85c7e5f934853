"""Rewriting before binding: contraction, and reads through broadcasts.

Contraction: a product that feeds a sum becomes a fused multiply-add, as the GPU's compiler does it.

Seen on an H200 with Triton 3.6, bit for bit: every sum takes a product of its own block, also one that
others read as well, and also through splat, expand_dims and broadcast; of two products it takes the one
with fewer readers, else the left one; a product does not cross into a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .program import Operation, Type

SUMS = ("arith.addf", "arith.subf")
SHAPES = ("tt.splat", "tt.broadcast", "tt.expand_dims")
# besides arithmetic; tt.store is none, because its value's type says how many lanes there are
LANE_BY_LANE = ("tt.addptr", "tt.load")
NewSlot = Callable[[Type], int]


def contract(
    operations: list[Operation], uses: dict[int, int], types: list[Type], new_slot: NewSlot
) -> list[Operation]:
    """Returns the operations of one block with `machine.fma` in place of sums of products."""
    producers = {slot: operation for operation in operations for slot in operation.results}
    result: list[Operation] = []
    for operation in operations:
        chain = _product(operation, producers, uses) if operation.name in SUMS else None
        if chain is None:
            result.append(operation)
            continue
        side, (product, *shapes) = chain
        factors = [_reshaped(slot, shapes, types, new_slot, result, uses) for slot in product.operands]
        attributes: dict[str, object] = {
            "negates_product": operation.name == "arith.subf" and side == 1,
            "negates_addend": operation.name == "arith.subf" and side == 0,
        }
        addend = operation.operands[1 - side]
        result.append(
            Operation("machine.fma", (*factors, addend), operation.results, attributes, (), operation.location)
        )
        uses[operation.operands[side]] -= 1
        for slot in product.operands:
            uses[slot] = uses.get(slot, 0) + 1
    return _without_dead(result, uses)


def without_broadcasts(operations: list[Operation], uses: dict[int, int]) -> list[Operation]:
    """Lets operations that work lane by lane read what was broadcast: sizes of 1 stand for any size."""
    sources: dict[int, int] = {}
    result: list[Operation] = []
    for operation in operations:
        if operation.name in LANE_BY_LANE or operation.name.split(".")[0] in ("arith", "math", "machine"):
            operands = tuple(sources.get(slot, slot) for slot in operation.operands)
            if operands != operation.operands:
                for before, after in zip(operation.operands, operands, strict=True):
                    uses[before] -= 1
                    uses[after] = uses.get(after, 0) + 1
                operation = replace(operation, operands=operands)
        if operation.name == "tt.broadcast":
            sources[operation.results[0]] = operation.operands[0]
        result.append(operation)
    return _without_dead(result, uses)


def _product(
    operation: Operation, producers: dict[int, Operation], uses: dict[int, int]
) -> tuple[int, list[Operation]] | None:
    """Returns which operand of a sum is a product, and the product with the changes of shape after it."""
    found = []
    for side, slot in enumerate(operation.operands):
        shapes: list[Operation] = []
        while slot in producers and producers[slot].name in SHAPES:
            shapes.insert(0, producers[slot])
            slot = producers[slot].operands[0]
        if slot in producers and producers[slot].name == "arith.mulf":
            found.append((uses.get(slot, 0), side, [producers[slot], *shapes]))
    if not found:
        return None
    _, side, chain = min(found, key=lambda entry: entry[:2])
    return side, chain


def _reshaped(
    slot: int,
    shapes: list[Operation],
    types: list[Type],
    new_slot: NewSlot,
    result: list[Operation],
    uses: dict[int, int],
) -> int:
    """Gives a factor the shape that its product was given."""
    for shape in shapes:
        target = new_slot(types[shape.results[0]])
        uses[target] = 1
        result.append(replace(shape, operands=(slot,), results=(target,)))
        slot = target
    return slot


def _without_dead(operations: list[Operation], uses: dict[int, int]) -> list[Operation]:
    """Drops products, and changes of their shape, that nothing reads any more."""
    kept: list[Operation] = []
    for operation in reversed(operations):
        is_pure = operation.name == "arith.mulf" or operation.name in SHAPES
        if is_pure and all(uses.get(slot, 1) == 0 for slot in operation.results):
            for slot in operation.operands:
                uses[slot] = uses.get(slot, 1) - 1
            continue
        kept.append(operation)
    return kept[::-1]
