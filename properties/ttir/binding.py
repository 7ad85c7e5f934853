"""Binds each operation of a function once to a closure over slots: the plan that frames run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .constants import constant
from .contract import contract, without_broadcasts
from .elements import STORED
from .hazard import Unsupported, source_line
from .program import Block, Function, Operation, Program, Region, Type
from .prologue import Memory, is_pure
from .registry import BINDERS, Step
from .run import Frame

# values smaller than this are not worth releasing early
RELEASED_LANES = 256
# filled once, when bound, and shared by all frames
KEPT = ("arith.constant", "tt.make_range")


@dataclass
class Plan:
    """A bound function: steps to run, and lists to copy for a fresh frame."""

    function: Function
    # the steps that depend on scalars and program ids alone, and what they gave before
    prologue: list[Step]
    memory: Memory
    steps: list[Step]
    data: list[Any]
    ranges: list[Any]
    stores_to: frozenset[int] | None
    lanes: int
    has_atomics: bool
    # a kernel with locks runs its programs one after another
    is_serial: bool


@dataclass
class Binding:
    """What binders may know: the function's types, the switches, and the number of program axes."""

    program: Program
    function: Function
    has_checks: bool
    fma: bool
    axes: int
    data: list[Any] = field(default_factory=list)
    ranges: list[Any] = field(default_factory=list)
    plans: dict[str, Plan] = field(default_factory=dict)
    uses: dict[int, int] = field(default_factory=dict)
    unsigned: frozenset[int] = frozenset()
    # slots that the prologue fills; None while operations are bound that must stay in their place
    static: set[int] | None = None
    prologue: list[Step] = field(default_factory=list)

    def type(self, slot: int) -> Type:
        return self.function.types[slot]

    def new_slot(self, type_: Type) -> int:
        """Adds a slot that the program itself does not have."""
        self.function.types.append(type_)
        self.data.append(None)
        self.ranges.append(None)
        return len(self.data) - 1

    def unsupported(self, operation: Operation, detail: str = "") -> Unsupported:
        """Returns the one line that says what the machine does not know."""
        where = f"{operation.location.file}:{operation.location.line}"
        extra = f" ({detail})" if detail else ""
        source = source_line(operation.location)
        return Unsupported(
            f"{operation.name}{extra} in kernel {self.function.name} at {where} is not supported: {source}"
        )

    def block(self, block: Block, kept: frozenset[int] = frozenset()) -> list[Step]:
        """Binds the operations of a block, releasing large values after their last use; `kept` are read elsewhere."""
        operations = block.operations
        if self.fma:
            operations = contract(operations, self.uses, self.function.types, self.new_slot)
        operations = without_broadcasts(operations, self.uses)
        last = _last_uses(operations)
        static, self.static = self.static, None
        steps: list[Step] = []
        for position, operation in enumerate(operations):
            is_static = static is not None and is_pure(operation) and static.issuperset(operation.operands)
            if operation.name == "arith.constant":
                self.constant(operation)
            else:
                step = self.bind(operation)
                if step is not None:
                    (self.prologue if is_static else steps).append(step)
            if is_static and static is not None:
                static.update(operation.results)
            dead = [
                slot
                for slot in last.get(position, ())
                if self.type(slot).lanes >= RELEASED_LANES
                and slot not in kept
                and (static is None or slot not in static)
            ]
            if dead:
                steps.append(_release(dead))
        self.static = static
        return steps

    def bind(self, operation: Operation) -> Step | None:
        """Binds one operation; raises `Unsupported` if its name is not known."""
        binder = BINDERS.get(operation.name)
        if binder is None:
            raise self.unsupported(operation)
        return binder(operation, self)

    def constant(self, operation: Operation) -> None:
        slot = operation.results[0]
        type_ = self.type(slot)
        value = constant(str(operation.attributes["value"]), type_)
        self.data[slot] = value.reshape((1,) * (self.axes + type_.rank - value.ndim) + value.shape)
        if type_.is_integer:
            self.ranges[slot] = (int(value.min()), int(value.max()))

    def callee(self, name: str) -> Plan:
        """Binds a function that this one calls."""
        if name not in self.plans:
            other = self.program.functions[name]
            self.plans[name] = bind_function(self.program, other, self.has_checks, self.fma, self.axes, self.plans)
        return self.plans[name]


def bind_kernel(program: Program, has_checks: bool, fma: bool, axes: int) -> Plan:
    """Binds a program's kernel; raises `Unsupported` for the first operation it does not know."""
    return bind_function(program, program.kernel, has_checks, fma, axes, {}, has_prologue=True)


def bind_function(
    program: Program,
    function: Function,
    has_checks: bool,
    fma: bool,
    axes: int,
    plans: dict[str, Plan],
    has_prologue: bool = False,
) -> Plan:
    from .bodies import body
    from .signs import unsigned_slots
    from .slices import has_atomics, stored_arguments, waits

    # slots are added to a copy: the parsed program is shared by every plan
    function = replace(function, types=list(function.types))
    count = len(function.types)
    binding = Binding(program, function, has_checks, fma, axes, [None] * count, [None] * count, plans)
    count_uses(function.body, binding.uses)
    binding.unsigned = unsigned_slots(function)
    if has_prologue and len(function.body.blocks) == 1:
        binding.static = set(function.arguments)
    steps = body(function.body, binding)
    lanes = max((type_.lanes for type_ in function.types), default=1)
    return Plan(
        function,
        binding.prologue,
        Memory(sorted(binding.static or ())),
        steps,
        binding.data,
        binding.ranges,
        stored_arguments(program, function),
        lanes,
        has_atomics(program),
        waits(program),
    )


def count_uses(region: Region, uses: dict[int, int]) -> None:
    """Counts how often each slot is read."""
    for block in region.blocks:
        for operation in block.operations:
            for slot in used_slots(operation):
                uses[slot] = uses.get(slot, 0) + 1
            for inner in operation.regions:
                count_uses(inner, uses)


def used_slots(operation: Operation) -> list[int]:
    """Returns the slots that an operation reads itself, outside of its regions."""
    return [*operation.operands, *(slot for _, slots in operation.successors for slot in slots)]


def all_slots(operation: Operation) -> set[int]:
    found = set(used_slots(operation))
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                found |= all_slots(inner)
    return found


def _last_uses(operations: list[Operation]) -> dict[int, list[int]]:
    """Returns for each position the slots, defined among these, that are never read after it."""
    last: dict[int, int] = {}
    for position, operation in enumerate(operations):
        if operation.name not in KEPT:
            for slot in operation.results:
                last[slot] = position
        for slot in all_slots(operation):
            if slot in last:
                last[slot] = position
    by_position: dict[int, list[int]] = {}
    for slot, position in last.items():
        # what the terminator hands on is read by whatever owns the block
        if position < len(operations) - 1:
            by_position.setdefault(position, []).append(slot)
    return by_position


def _release(slots: list[int]) -> Step:
    def release(frame: Frame) -> None:
        data, taint = frame.data, frame.taint
        for slot in slots:
            data[slot] = None
            taint[slot] = None

    return release


def full_range(type_: Type) -> tuple[int, int]:
    """Returns the signed range of an integer type."""
    from .elements import SIGNED_RANGE

    return SIGNED_RANGE[type_.element]


def stored_dtype(type_: Type) -> np.dtype:
    """Returns the NumPy type that carries values of a TTIR type."""
    return STORED[type_.element]
