"""A kernel's body as a straight run of operations: branches as paths, loops unrolled or cut at an invariant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from properties.proofs.launches import NotJudged
from properties.ttir.hazard import source_line
from properties.ttir.program import Block, Function, Operation, Region, Type

Path = tuple[tuple[int, bool], ...]  # the branches that lead to an operation: condition, and which side
UNKNOWN_EFFECTS = {"tt.atomic_rmw", "tt.atomic_cas", "tt.call", "tt.descriptor_store", "tt.descriptor_load"}
MOST_ROUNDS = 64  # of a loop that is unrolled


@dataclass(frozen=True)
class Site:
    """A load or store of the kernel, with the branches that lead to it."""

    operation: Operation
    path: Path
    rounds: tuple[int, ...] = ()  # slots of the rounds of loops around it

    @property
    def is_store(self) -> bool:
        """Whether it writes."""
        return self.operation.name == "tt.store"

    def __str__(self) -> str:
        location = self.operation.location
        return f"{location.file}:{location.line} {source_line(location)}"


@dataclass(frozen=True)
class Cut:
    """A loop of which one round stands for all: slots of what it carries, before, within, after one, and behind it."""

    first: tuple[int, ...]
    within: tuple[int, ...]
    after: tuple[int, ...]
    behind: tuple[int, ...]
    inside: int  # the slot of the condition under which the round is reached
    rounds: tuple[int, int, int]  # slots of the first number, the end and the step


@dataclass
class Plan:
    """Every operation of a body with its path; slots beyond the function's own belong to rounds of its loops."""

    function: Function
    cut: bool = False  # whether a loop is cut in place of unrolled
    sites: list[Site] = field(default_factory=list)
    types: list[Type] = field(default_factory=list)
    paths: dict[int, Path] = field(default_factory=dict)
    producers: dict[int, tuple[Operation, int]] = field(default_factory=dict)
    same: dict[int, int] = field(default_factory=dict)  # results of a loop: what its last round yields
    numbers: dict[int, int] = field(default_factory=dict)  # the loop's own variable, round by round
    cuts: list[Cut] = field(default_factory=list)
    rounds: dict[int, range] = field(default_factory=dict)  # variables of loops that carry nothing, and what they are

    def walk(self, number: Callable[[int], int | None]) -> None:
        """Fills everything; `number` is the constant that a slot is, if it is one. Raises NotJudged."""
        self.types = list(self.function.types)
        self._around: list[int] = []
        self.sites = list(self._walk(self.function.body, (), number))

    def _walk(self, region: Region, path: Path, number: Callable[[int], int | None]) -> Iterator[Site]:
        if len(region.blocks) != 1:
            raise NotJudged(f"{self.function.name} has jumps (cf.cond_br), which are not understood")
        for operation in region.entry.operations:
            self.paths[id(operation)] = path
            for place, slot in enumerate(operation.results):
                self.producers[slot] = (operation, place)
            if operation.name in ("tt.load", "tt.store"):
                yield Site(operation, path, tuple(self._around))
            elif operation.name == "scf.if":
                for inner, taken in zip(operation.regions, (True, False), strict=False):
                    yield from self._walk(inner, (*path, (operation.operands[0], taken)), number)
            elif operation.name == "scf.for":
                yield from self._loop(operation, path, number)
            elif (operation.regions and operation.name != "tt.reduce") or operation.name in UNKNOWN_EFFECTS:
                raise NotJudged(f"{operation.name} is not understood ({Site(operation, path)})")

    def _loop(self, loop: Operation, path: Path, number: Callable[[int], int | None]) -> Iterator[Site]:
        body = loop.regions[0].entry
        variable, *carried = body.arguments
        if self.cut:
            if self.cuts or path:
                raise NotJudged(f"more than one loop is not understood ({Site(loop, path)})")
            inside = self._slot(Type("i1"))
            *work, last = body.operations
            rounds = loop.operands[0], loop.operands[1], loop.operands[2]
            self.cuts.append(Cut(loop.operands[3:], tuple(carried), last.operands, loop.results, inside, rounds))
            yield from self._walk(Region([Block(operations=work)]), (*path, (inside, True)), number)
            return
        first, end, step = (number(slot) for slot in loop.operands[:3])
        if not loop.results and first is not None and end is not None and step is not None and first < end:
            # its rounds are told apart by their number alone, so that one with any number stands for all
            self.rounds[variable] = range(first, end, step)
            self._around.append(variable)
            yield from self._walk(Region([Block(operations=body.operations)]), path, number)
            self._around.pop()
            return
        if first is None or end is None or step is None or len(range(first, end, step)) > MOST_ROUNDS:
            words = f"a loop (scf.for) whose rounds are not constant, or more than {MOST_ROUNDS}, is not understood"
            raise NotJudged(f"{words} ({Site(loop, path)})")
        state = tuple(self.same.get(slot, slot) for slot in loop.operands[3:])
        for count in range(first, end, step):
            names = dict(zip(carried, state, strict=True))
            names[variable] = self._slot(self.types[variable])
            self.numbers[names[variable]] = count
            copies = [self._copied(operation, names) for operation in body.operations]
            yield from self._walk(Region([Block(operations=copies[:-1])]), path, number)
            state = tuple(self.same.get(slot, slot) for slot in copies[-1].operands)
        self.same.update(zip(loop.results, state, strict=True))

    def _slot(self, type_: Type) -> int:
        self.types.append(type_)
        return len(self.types) - 1

    def _copied(self, operation: Operation, names: dict[int, int]) -> Operation:
        """An operation with results of its own; `names` says which slots have other names in this round."""
        operands = tuple(names.get(slot, slot) for slot in operation.operands)
        for slot in operation.results:
            names[slot] = self._slot(self.types[slot])
        results = tuple(names[slot] for slot in operation.results)
        regions = tuple(self._copied_region(region, names) for region in operation.regions)
        return replace(operation, operands=operands, results=results, regions=regions)

    def _copied_region(self, region: Region, names: dict[int, int]) -> Region:
        blocks = []
        for block in region.blocks:
            for slot in block.arguments:
                names[slot] = self._slot(self.types[slot])
            arguments = tuple(names[slot] for slot in block.arguments)
            blocks.append(Block(block.label, arguments, [self._copied(one, names) for one in block.operations]))
        return Region(blocks)
