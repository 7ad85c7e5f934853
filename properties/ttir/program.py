"""The parsed program: a value of its own, apart from whatever evaluates it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Type:
    """The type of one TTIR value: `shape` is () for a scalar, element is MLIR's word (`i32`, `bf16`, ...)."""

    element: str
    shape: tuple[int, ...] = ()
    is_pointer: bool = False
    is_descriptor: bool = False

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_integer(self) -> bool:
        return not self.is_pointer and not self.is_descriptor and self.element[0] == "i"

    @property
    def is_float(self) -> bool:
        return not self.is_pointer and not self.is_descriptor and self.element[0] in "fb"

    @property
    def lanes(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    def __str__(self) -> str:
        element = f"!tt.ptr<{self.element}>" if self.is_pointer else self.element
        if self.is_descriptor:
            return f"!tt.tensordesc<{'x'.join(map(str, self.shape))}x{element}>"
        return f"tensor<{'x'.join(map(str, self.shape))}x{element}>" if self.shape else element


@dataclass(frozen=True)
class Location:
    """A line of source; `callers` are the lines that inlined it, innermost first."""

    file: str = "<unknown>"
    line: int = 0
    callers: tuple[Location, ...] = ()


@dataclass
class Operation:
    """One operation: slots of operands and results, attributes, bare words of its text, regions."""

    name: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    attributes: dict[str, object]
    words: tuple[str, ...]
    location: Location
    regions: tuple[Region, ...] = ()
    # (block label, slots handed to its arguments) for cf.br and cf.cond_br
    successors: tuple[tuple[str, tuple[int, ...]], ...] = ()


@dataclass
class Block:
    """A straight run of operations; `arguments` are the slots that its callers fill."""

    label: str = ""
    arguments: tuple[int, ...] = ()
    operations: list[Operation] = field(default_factory=list)


@dataclass
class Region:
    """The blocks of a function body or of a structured operation; the first one is the entry."""

    blocks: list[Block]

    @property
    def entry(self) -> Block:
        return self.blocks[0]


@dataclass
class Function:
    """A function: argument slots by position, the body, and the type of every slot."""

    name: str
    arguments: tuple[int, ...]
    argument_names: tuple[str, ...]
    types: list[Type]
    body: Region
    location: Location
    is_public: bool


@dataclass
class Program:
    """A module: the kernel and the functions it calls by name."""

    kernel: Function
    functions: dict[str, Function]
