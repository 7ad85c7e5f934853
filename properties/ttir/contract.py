"""Contraction: a product that feeds one sum becomes a fused multiply-add, as the GPU's compiler does."""

from __future__ import annotations

from .program import Operation, Type

SUMS = ("arith.addf", "arith.subf")


def contract(operations: list[Operation], uses: dict[int, int], types: list[Type]) -> list[Operation]:
    """Returns the operations of one block with `machine.fma` in place of product and sum.

    Only a product whose one use is the sum, in the same block, is taken; of two products the left one.
    """
    producers: dict[int, Operation] = {}
    replaced: dict[int, Operation] = {}
    dropped: set[int] = set()
    for operation in operations:
        for slot in operation.results:
            producers[slot] = operation
        if operation.name not in SUMS or types[operation.results[0]].element == "f64":
            continue
        for side in (0, 1):
            chain = _product(operation.operands[side], producers, uses)
            if chain is None or any(id(link) in dropped for link in chain):
                continue
            product = chain[-1]
            attributes: dict[str, object] = {
                "negates_product": operation.name == "arith.subf" and side == 1,
                "negates_addend": operation.name == "arith.subf" and side == 0,
            }
            replaced[id(operation)] = Operation(
                "machine.fma",
                (*product.operands, operation.operands[1 - side]),
                operation.results,
                attributes,
                (),
                operation.location,
            )
            dropped.update(id(link) for link in chain)
            break
    return [replaced.get(id(operation), operation) for operation in operations if id(operation) not in dropped]


def _product(slot: int, producers: dict[int, Operation], uses: dict[int, int]) -> list[Operation] | None:
    """Follows a slot through broadcasts to a product that nothing else reads."""
    chain: list[Operation] = []
    while uses.get(slot) == 1 and slot in producers:
        operation = producers[slot]
        chain.append(operation)
        if operation.name == "arith.mulf":
            return chain
        if operation.name != "tt.broadcast":
            return None
        slot = operation.operands[0]
    return None
