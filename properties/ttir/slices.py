"""Static slices: which arguments a function's stores may reach."""

from __future__ import annotations

from .program import Function, Operation, Program, Region

STORES = (
    "tt.store",
    "tt.atomic_rmw",
    "tt.atomic_cas",
    "tt.descriptor_store",
    "tt.descriptor_reduce",
    "tt.descriptor_scatter",
)


def stored_arguments(program: Program, function: Function) -> frozenset[int] | None:
    """Returns positions of the arguments that stores may write; None when a slice leads elsewhere."""
    sources: dict[int, set[int]] = {}
    targets: set[int] = set()
    _collect(function.body, sources, targets)
    if any(operation.name in ("tt.call", "tt.int_to_ptr") for operation in _operations(function.body)):
        return None
    reached: set[int] = set()
    waiting = list(targets)
    while waiting:
        slot = waiting.pop()
        type_ = function.types[slot]
        if slot not in reached and (type_.is_pointer or type_.is_descriptor):
            reached.add(slot)
            waiting += sources.get(slot, ())
    return frozenset(number for number, slot in enumerate(function.arguments) if slot in reached)


def has_atomics(program: Program) -> bool:
    """Says whether any function of a program changes memory atomically."""
    return any(
        operation.name.startswith("tt.atomic") or operation.name == "tt.descriptor_reduce"
        for function in program.functions.values()
        for operation in _operations(function.body)
    )


def waits(program: Program) -> bool:
    """Says whether a `while` only asks memory atomically, as for a lock: in lockstep it may wait for ever."""
    every = [operation for function in program.functions.values() for operation in _operations(function.body)]
    return any(operation.name == "scf.while" and _only_asks(program, operation) for operation in every)


def _only_asks(program: Program, loop: Operation) -> bool:
    inner = [operation for region in loop.regions for operation in _operations(region)]
    for call in [operation for operation in inner if operation.name == "tt.call"]:
        inner += _operations(program.functions[str(call.attributes["callee"])].body)
    names = {operation.name for operation in inner}
    is_asking = any(name.startswith("tt.atomic") for name in names)
    return is_asking and not names & {"tt.load", "tt.store", "tt.descriptor_load", "tt.descriptor_store"}


def _operations(region: Region) -> list[Operation]:
    found = []
    for block in region.blocks:
        for operation in block.operations:
            found.append(operation)
            for inner in operation.regions:
                found += _operations(inner)
    return found


def _collect(region: Region, sources: dict[int, set[int]], targets: set[int]) -> None:
    """Gathers, generously, which slots a slot's pointer may come from."""
    for block in region.blocks:
        for operation in block.operations:
            if operation.name in STORES:
                targets.add(operation.operands[0])
            for slot in operation.results:
                sources.setdefault(slot, set()).update(operation.operands)
            for label, slots in operation.successors:
                for other in region.blocks:
                    if other.label == label:
                        for argument, slot in zip(other.arguments, slots, strict=True):
                            sources.setdefault(argument, set()).add(slot)
            for inner in operation.regions:
                _collect(inner, sources, targets)
                for inner_block in inner.blocks:
                    for argument in inner_block.arguments:
                        sources.setdefault(argument, set()).update(operation.operands)
                    last = inner_block.operations[-1] if inner_block.operations else None
                    if last is not None and last.name in ("scf.yield", "scf.condition"):
                        for slot in operation.results:
                            sources.setdefault(slot, set()).update(last.operands)
                        for entry in operation.regions:
                            for argument in entry.entry.arguments:
                                sources.setdefault(argument, set()).update(last.operands)
