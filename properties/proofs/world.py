"""The symbolic call: sizes, strides and tensors that the contract leaves free, at one geometry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import z3

from properties.cases import Geometry

VALUE = z3.DeclareSort("Value")  # a float: what it is, not which number
ZERO = z3.Const("zero", VALUE)
ROW_TENSORS = ("positions", "seq_idx", "slot_mapping", "query_start")

PAGE, ROW, TABLE_ROW = "page stride", "row stride of x", "row stride of the table"


@dataclass(frozen=True)
class Limits:
    """Sizes up to which is proved; larger ones are not judged."""

    rows: int = 2**30
    x: int = 2**40  # elements from the first to the last of x, where its rows lie apart
    table: int = 2**31  # elements from the first to the last of the block table
    cache: int = 2**40  # elements from the first to the last of the cache
    positions: int = 2**40


@dataclass(frozen=True)
class Tensor:
    """A tensor argument: sizes and strides of its axes, what a load of it reads."""

    name: str
    sizes: tuple[Any, ...]
    strides: tuple[int | str, ...]
    contents: z3.FuncDeclRef

    @property
    def is_integer(self) -> bool:
        """Whether it holds metadata."""
        return self.contents.range() == z3.IntSort()

    def inside(self, index: tuple[z3.ArithRef, ...]) -> z3.BoolRef:
        """Whether an index is an element."""
        return z3.And([z3.And(0 <= one, one < size) for one, size in zip(index, self.sizes, strict=True)])


AnyWorld = Any  # a World, or the RequestsWorld of sconv_seq_metadata


@dataclass
class World:
    """Symbols and options of one call at a geometry; `fixed` sizes are numbers, because Triton compiles them apart."""

    geometry: Geometry
    limits: Limits = Limits()
    fixed: dict[str, int] = field(default_factory=dict)
    rows_apart: bool = False
    use_residual: bool = True
    activation: str | None = None
    parity: int | None = (
        None  # of the number of rows of the calls that lead to this program; what is proved needs it not
    )

    def __post_init__(self) -> None:
        geometry = self.geometry
        H, N, D, C, W = geometry.H, geometry.N, geometry.D, geometry.C, geometry.W
        self.T, self.R, self.width, self.num_blocks = (self.size(name) for name in ("T", "R", "width", "num_blocks"))
        integer = z3.IntSort()
        row: int | str = ROW if self.rows_apart else C
        table_row: int | str = self.fixed.get(TABLE_ROW, TABLE_ROW)
        page: int | str = self.fixed.get(PAGE, PAGE)

        def values(name: str, rank: int) -> z3.FuncDeclRef:
            return z3.Function(name, *[integer] * rank, VALUE)

        self.slot, self.position, self.request, self.first = (
            z3.Function(name, integer, integer) for name in ("slot", "position", "request", "first row")
        )
        self.block = z3.Function("block", integer, integer, integer)
        contents = (self.position, self.request, self.slot, self.first)
        every = [Tensor(name, (self.T,), (1,), one) for name, one in zip(ROW_TENSORS, contents, strict=True)]
        every += [
            Tensor("x", (self.T, C), (row, 1), values("x", 2)),
            Tensor("weight", (C, W), (W, 1), values("weight", 2)),
            Tensor("cache", (self.num_blocks, H, N, D), (page, N * D, D, 1), values("cache", 4)),
            Tensor("block_table", (self.R, self.width), (table_row, 1), self.block),
            Tensor("out", (self.T, C), (C, 1), values("out", 2)),
        ]
        self.axioms: dict[tuple[int, ...], Any] = {}
        self.tensors = {tensor.name: tensor for tensor in every}

    def size(self, name: str) -> Any:
        """A size that the contract leaves free."""
        return z3.IntVal(self.fixed[name]) if name in self.fixed else z3.Int(name)

    def wishes(self, row: z3.ArithRef | None) -> list[z3.BoolRef]:
        """What makes a counterexample readable, and likely to matter; the first ones matter most."""
        found = [] if self.parity is None else [self.T % 2 == self.parity]
        found += [self.T <= 40, self.R <= 4]
        if row is not None:
            # what passes a narrower type is wrong at the first numbers beyond it, not at all
            most = (2**22, 2**16 - 1, 2**8 - 1, 4 * self.geometry.N + self.geometry.W)
            found += [self.is_live(row), *(self.position(row) <= one for one in sorted(most, reverse=True))]
        return [*found, self.T <= 12]

    def is_live(self, row: z3.ArithRef) -> z3.BoolRef:
        """Whether a row has a slot."""
        return self.slot(row) >= 0
