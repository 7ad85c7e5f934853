"""One symbolic program and lane of a kernel: every value on demand, as an expression over its lane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import z3

from properties.proofs.forms import Form
from properties.proofs.launches import NotJudged, Symbolic
from properties.proofs.walk import Path, Plan, Site
from properties.proofs.world import VALUE, AnyWorld, Tensor
from properties.ttir.program import Operation, Type

Lanes = tuple[z3.ArithRef, ...]
Place = tuple[int, tuple[int, ...]]  # a slot at lanes, by the ids of their expressions


@dataclass(frozen=True)
class Pointer:
    """An address: a tensor of the call and an offset in elements."""

    tensor: str
    offset: Form


@dataclass(frozen=True)
class Access:
    """A site at a lane: the element, and when it happens."""

    evaluation: Evaluation
    site: Site
    tensor: Tensor
    index: Lanes
    guard: z3.BoolRef
    lanes: Lanes
    rounds: Lanes = ()  # of the loops around it

    @property
    def value(self) -> Any:
        """What is stored; evaluated only where it is asked for, since most claims are about places alone."""
        return self.evaluation.at(self.site.operation.operands[1], self.lanes)


@dataclass
class Noted:
    """An integer operation at a lane, for the question whether it wraps; `after` are those it computes with."""

    operation: Operation | None
    result: Form | None
    bits: int
    after: list[Place] = field(default_factory=list)


class Evaluation:
    """One program of the grid; two evaluations with other names are two programs of one launch."""

    def __init__(self, kernel: Symbolic, world: AnyWorld, name: str = "") -> None:
        self.kernel, self.world, self.name = kernel, world, name
        self.programs = tuple(z3.Int(f"program{name}.{axis}") for axis in range(3))
        self.facts = [z3.And(0 <= one, one < size) for one, size in zip(self.programs, kernel.grid, strict=True)]
        self.rows: dict[int, z3.ArithRef] = {}  # at which metadata of a row was loaded
        self.values: dict[Place, Any] = {}
        self.noted: dict[Place, Noted] = {}
        self.floats: list[z3.BoolRef] = []  # facts of the uninterpreted arithmetic
        self.owed: list[tuple[str, z3.BoolRef]] = []  # axioms about values, by name
        self.products: list[tuple[Operation, z3.ExprRef, z3.ExprRef]] = []  # with factors, as they were computed
        self._unknowns = 0
        self._rounds: dict[int, z3.ArithRef] = {}
        self._stack: list[Place] = []
        self._kept: list[Lanes] = []
        self._lanes: dict[tuple[int, ...], Lanes] = {}
        self.plan = kernel.plan or Plan(kernel.function, kernel.is_cut)
        if kernel.plan is None:
            self.plan.walk(self._number)
            kernel.plan = self.plan
        self.sites, self.paths = self.plan.sites, self.plan.paths

    @property
    def types(self) -> list[Type]:
        """The type of every slot."""
        return self.plan.types

    def _number(self, slot: int) -> int | None:
        """The constant that a scalar is, if it is one, as far as the body is walked."""
        value = self.at(slot, ())
        return value.number if isinstance(value, Form) else None

    def unknown(self, word: str, sort: z3.SortRef) -> z3.ExprRef:
        """A value of which nothing is known, named by its number here: the same question has the same names."""
        self._unknowns += 1
        return z3.Const(f"{word}{self.name} {self._unknowns}", sort)

    def lanes(self, shape: tuple[int, ...]) -> Lanes:
        """A lane of a tile of this shape: the same variables whenever the shape is asked for."""
        if shape not in self._lanes:
            names = [f"lane{self.name}.{'x'.join(map(str, shape))}.{axis}" for axis in range(len(shape))]
            found = tuple(z3.IntVal(0) if n == 1 else z3.Int(name) for name, n in zip(names, shape, strict=True))
            self.facts += [z3.And(0 <= one, one < n) for one, n in zip(found, shape, strict=True) if n > 1]
            self._lanes[shape] = found
        return self._lanes[shape]

    def round(self, slot: int) -> z3.ArithRef:
        """The round, counted from 0, of a loop of which one round stands for all."""
        rounds = self.plan.rounds[slot]
        if len(rounds) == 1:
            return z3.IntVal(0)
        if slot not in self._rounds:
            number = list(self.plan.rounds).index(slot)  # not the slot: programs that differ elsewhere ask the same
            self._rounds[slot] = z3.Int(f"round{self.name} {number}")
            self.facts.append(z3.And(0 <= self._rounds[slot], self._rounds[slot] < len(rounds)))
        return self._rounds[slot]

    def is_reached(self, path: Path) -> z3.BoolRef:
        """Whether the program takes these branches."""
        return z3.And([self.at(slot, ()) if taken else z3.Not(self.at(slot, ())) for slot, taken in path])

    def access(self, site: Site, lanes: Lanes | None = None) -> Access:
        """A site at a lane, by default its shape's."""
        operands = site.operation.operands
        lanes = self.lanes(self.types[operands[0]].shape) if lanes is None else lanes
        pointer = self.at(operands[0], lanes)
        tensor = self.world.tensors[pointer.tensor]
        mask = operands[2:3] if site.is_store else operands[1:2]
        guard = z3.And(self.is_reached(site.path), *(self.at(slot, lanes) for slot in mask))
        index = pointer.offset.split(tensor.strides, tensor.sizes)
        return Access(self, site, tensor, index, guard, lanes, tuple(self.round(slot) for slot in site.rounds))

    def at(self, slot: int, lanes: Lanes) -> Any:
        """The value of a slot at a lane: Form, z3.BoolRef, Pointer, or a term of sort Value."""
        slot = self.plan.same.get(slot, slot)
        place = (slot, tuple(lane.get_id() for lane in lanes))
        if self._stack:
            self.noted.setdefault(self._stack[-1], Noted(None, None, 0)).after.append(place)
        if place not in self.values:
            self._kept.append(lanes)  # z3 gives the id of a dead expression to another one
            self._stack.append(place)
            try:
                self.values[place] = self._compute(slot, lanes, place)
            finally:
                self._stack.pop()
        return self.values[place]

    def _compute(self, slot: int, lanes: Lanes, place: Place) -> Any:
        if slot in self.kernel.arguments:
            given = self.kernel.arguments[slot]
            return Pointer(given, Form.of(0)) if isinstance(given, str) else given
        if slot in self.plan.numbers:
            return Form.of(self.plan.numbers[slot])
        if slot in self.plan.rounds:
            start, step = self.plan.rounds[slot].start, self.plan.rounds[slot].step
            return Form.of(start + step * self.round(slot))
        for cut in self.plan.cuts:
            for word, slots in (("within", cut.within), ("behind", cut.behind)):
                if slot in slots:
                    return self._carried(f"{word}{self.name} {slots.index(slot)}", slot, lanes)
            if slot == cut.inside:
                return z3.Bool(f"inside{self.name}")
        if slot not in self.plan.producers:
            raise NotJudged(f"{self.kernel.function.name} has a value that no operation makes")
        operation, number = self.plan.producers[slot]
        meaning = MEANINGS.get(operation.name)
        if meaning is None:
            raise NotJudged(f"{operation.name} is not understood ({Site(operation, ())})")
        try:
            value = meaning(self, operation, lanes, number)
        except (AttributeError, z3.Z3Exception):  # a number where a float is known, or the other way round
            raise NotJudged(f"{operation.name} of such operands is not understood ({Site(operation, ())})") from None
        if operation.name in WRAPPING and isinstance(value, Form):
            note = self.noted.setdefault(place, Noted(None, None, 0))
            note.operation, note.result = operation, value
            note.bits = int(self.types[slot].element[1:])
        return value

    def _carried(self, name: str, slot: int, lanes: Lanes) -> Form:
        """What a loop that is cut carries, which is known at the lane that this evaluation is about alone."""
        if not self.types[slot].is_integer or [one.get_id() for one in lanes] != [
            one.get_id() for one in self.lanes(self.types[slot].shape)
        ]:
            raise NotJudged(f"{self.kernel.function.name} carries something else than numbers of a lane in its loop")
        return Form.of(z3.Int(name))

    def arithmetic(self, slots: tuple[int, ...], lanes: Lanes) -> list[Noted]:
        """The operations that wrap if they pass their type's range, on which these slots at a lane depend."""
        pending = [(self.plan.same.get(slot, slot), tuple(lane.get_id() for lane in lanes)) for slot in slots]
        seen: set[Place] = set()
        found = []
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            note = self.noted.get(place)
            producer = self.plan.producers.get(place[0])
            if producer is not None and producer[0].name == "tt.load":
                # its mask and address are judged where it happens, not what stands in for what it leaves out
                pending += [(self.plan.same.get(slot, slot), place[1]) for slot in producer[0].operands[2:]]
                continue
            if note is None:
                continue
            if note.result is not None:
                found.append(note)
            pending += note.after
        return found

    def load(self, operation: Operation, lanes: Lanes) -> Any:
        """What a load gives: the element where it happens, `other` or anything where it does not."""
        access = self.access(Site(operation, ()), lanes)
        tensor = access.tensor
        if tensor.is_integer and len(tensor.sizes) == 1:
            row = access.index[0]
            self.rows[row.get_id()] = row
        element: Any = tensor.contents(*access.index)
        if len(operation.operands) < 2:
            return Form.of(element) if tensor.is_integer else element
        if len(operation.operands) > 2:
            other = self.at(operation.operands[2], lanes)
        else:
            sort = z3.IntSort() if tensor.is_integer else VALUE
            unknown = self.unknown("undefined", sort)
            other = Form.of(unknown) if tensor.is_integer else unknown
        if tensor.is_integer:
            return Form.of(z3.If(access.guard, element, other.flat))
        return z3.If(access.guard, element, other)


Meaning = Callable[[Evaluation, Operation, Lanes, int], Any]
MEANINGS: dict[str, Meaning] = {}
WRAPPING = {"arith.addi", "arith.subi", "arith.muli", "arith.trunci", "tt.reduce"}


def meaning(*names: str) -> Callable[[Meaning], Meaning]:
    """Registers what operations mean."""

    def register(function: Meaning) -> Meaning:
        for name in names:
            MEANINGS[name] = function
        return function

    return register
