"""One symbolic program and lane of a kernel: every value on demand, as an expression over its lane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import z3

from properties.proofs.forms import Form
from properties.proofs.launches import NotJudged, Symbolic
from properties.proofs.world import VALUE, Tensor, World
from properties.ttir.hazard import source_line
from properties.ttir.program import Operation, Region

Lanes = tuple[z3.ArithRef, ...]
Path = tuple[tuple[int, bool], ...]  # the branches that lead to an operation: condition, and which side
Place = tuple[int, tuple[int, ...]]  # a slot at lanes, by the ids of their expressions


@dataclass(frozen=True)
class Pointer:
    """An address: a tensor of the call and an offset in elements."""

    tensor: str
    offset: Form


@dataclass(frozen=True)
class Site:
    """A load or store of the kernel, with the branches that lead to it."""

    operation: Operation
    path: Path

    @property
    def is_store(self) -> bool:
        """Whether it writes."""
        return self.operation.name == "tt.store"

    def __str__(self) -> str:
        location = self.operation.location
        return f"{location.file}:{location.line} {source_line(location)}"


@dataclass(frozen=True)
class Access:
    """A site at a lane: the element, when it happens, and what is stored."""

    site: Site
    tensor: Tensor
    index: Lanes
    guard: z3.BoolRef
    value: Any
    lanes: Lanes


@dataclass
class Noted:
    """An integer operation at a lane, for the question whether it wraps; `after` are those it computes with."""

    operation: Operation | None
    result: Form | None
    bits: int
    after: list[Place] = field(default_factory=list)


class Evaluation:
    """One program of the grid; two evaluations with other names are two programs of one launch."""

    def __init__(self, kernel: Symbolic, world: World, name: str = "") -> None:
        self.kernel, self.world, self.name = kernel, world, name
        self.types = kernel.function.types
        self.programs = tuple(z3.Int(f"program{name}.{axis}") for axis in range(3))
        self.facts = [z3.And(0 <= one, one < size) for one, size in zip(self.programs, kernel.grid, strict=True)]
        self.rows: dict[int, z3.ArithRef] = {}  # at which metadata of a row was loaded
        self.values: dict[Place, Any] = {}
        self.noted: dict[Place, Noted] = {}
        self.floats: list[z3.BoolRef] = []  # facts of the uninterpreted arithmetic
        self.owed: list[tuple[str, z3.BoolRef]] = []  # axioms about values, by name
        self.products: list[tuple[Operation, z3.ExprRef, z3.ExprRef]] = []  # with factors, as they were computed
        self._stack: list[Place] = []
        self._kept: list[Lanes] = []
        self._lanes: dict[tuple[int, ...], Lanes] = {}
        self.paths: dict[int, Path] = {}
        self.producers: dict[int, tuple[Operation, int]] = {}
        self.sites = list(self._walk(kernel.function.body, ()))

    def _walk(self, region: Region, path: Path) -> Iterator[Site]:
        if len(region.blocks) != 1:
            raise NotJudged(f"{self.kernel.function.name} has jumps (cf.cond_br), which are not understood")
        for operation in region.entry.operations:
            self.paths[id(operation)] = path
            for number, slot in enumerate(operation.results):
                self.producers[slot] = (operation, number)
            if operation.name in ("tt.load", "tt.store"):
                yield Site(operation, path)
            elif operation.name == "scf.if":
                for inner, taken in zip(operation.regions, (True, False), strict=False):
                    yield from self._walk(inner, (*path, (operation.operands[0], taken)))
            elif operation.regions or operation.name in UNKNOWN_EFFECTS:
                raise NotJudged(f"{operation.name} is not understood ({Site(operation, path)})")

    def lanes(self, shape: tuple[int, ...]) -> Lanes:
        """A lane of a tile of this shape: the same variables whenever the shape is asked for."""
        if shape not in self._lanes:
            names = [f"lane{self.name}.{'x'.join(map(str, shape))}.{axis}" for axis in range(len(shape))]
            found = tuple(z3.IntVal(0) if n == 1 else z3.Int(name) for name, n in zip(names, shape, strict=True))
            self.facts += [z3.And(0 <= one, one < n) for one, n in zip(found, shape, strict=True) if n > 1]
            self._lanes[shape] = found
        return self._lanes[shape]

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
        value = self.at(operands[1], lanes) if site.is_store else None
        index = pointer.offset.split(tensor.strides, tensor.sizes)
        return Access(site, tensor, index, z3.simplify(guard), value, lanes)

    def at(self, slot: int, lanes: Lanes) -> Any:
        """The value of a slot at a lane: Form, z3.BoolRef, Pointer, or a term of sort Value."""
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
        if slot not in self.producers:
            raise NotJudged(f"{self.kernel.function.name} has a value that no operation makes")
        operation, number = self.producers[slot]
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

    def arithmetic(self, slots: tuple[int, ...], lanes: Lanes) -> list[Noted]:
        """The operations that wrap if they pass their type's range, on which these slots at a lane depend."""
        pending = [(slot, tuple(lane.get_id() for lane in lanes)) for slot in slots]
        seen: set[Place] = set()
        found = []
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            note = self.noted.get(place)
            producer = self.producers.get(place[0])
            if note is None or (producer is not None and producer[0].name == "tt.load"):
                continue  # a load's own address is judged where it happens
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
            unknown = z3.FreshConst(sort, "undefined")
            other = Form.of(unknown) if tensor.is_integer else unknown
        if tensor.is_integer:
            return Form.of(z3.If(access.guard, element, other.flat))
        return z3.If(access.guard, element, other)


Meaning = Callable[[Evaluation, Operation, Lanes, int], Any]
MEANINGS: dict[str, Meaning] = {}
WRAPPING = {"arith.addi", "arith.subi", "arith.muli", "arith.trunci"}
UNKNOWN_EFFECTS = {"tt.atomic_rmw", "tt.atomic_cas", "tt.call", "tt.descriptor_store", "tt.descriptor_load"}


def meaning(*names: str) -> Callable[[Meaning], Meaning]:
    """Registers what operations mean."""

    def register(function: Meaning) -> Meaning:
        for name in names:
            MEANINGS[name] = function
        return function

    return register
