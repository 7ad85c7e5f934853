"""From real calls of the operator to one symbolic launch: which argument is which size, stride or tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import z3

from properties.contract import DTYPES
from properties.interrupts import is_of_the_user
from properties.proofs.forms import Form
from properties.proofs.world import PAGE, ROW, TABLE_ROW, World
from properties.ttir import Launch, Machine, cache, frontend
from properties.ttir.program import Function, Program

# Sizes of the calls that tell a launch's numbers apart: all different, and rows on both sides of a tile's edge.
ROWS = (4096, 4097, 37)
PROBES = tuple({"T": T, "R": 11 + n, "width": 17 + n, "num_blocks": 23 + n} for n, T in enumerate(ROWS))
MOST_TILE = 4096  # rows


class NotJudged(Exception):
    """Why an obligation cannot be judged, in one line."""

    is_refusal = False  # the operator itself refuses the call, as the contract lets it


@dataclass(frozen=True)
class Symbolic:
    """A kernel with every argument a tensor, a number or a form over the sizes; `grid` as expressions."""

    program: Program
    arguments: dict[int, Any]  # slot -> Form, name of a tensor, or a float
    grid: tuple[z3.ArithRef, ...]
    launch: Launch

    @property
    def function(self) -> Function:
        """The kernel's body."""
        return self.program.kernel


class Recorder(Machine):
    """Notes launches and runs none."""

    def _run(self, bound: frontend.Bound, kernel: str, grid: tuple[int, int, int]) -> None:
        """Leaves the launch at that: what it computes is asked of the symbols."""


def symbolic(operator: Callable[..., Any], world: World, configuration: int = 0) -> Symbolic:
    """Calls the operator at a few sizes and reads off what each argument of its launch is. Raises NotJudged."""
    seen = [_record(operator, world, probe, configuration) for probe in PROBES]
    first = seen[0][0]
    if len({launch.bound.key for launch, _, _ in seen}) > 1:
        raise NotJudged("the launch compiles to different code for different sizes")
    program = cache.program(first.bound)
    leaves = first.bound.leaves
    if len(program.kernel.arguments) != len(leaves):
        raise NotJudged(f"kernel {program.kernel.name} takes other arguments than were bound")
    arguments: dict[int, Any] = {}
    for slot, (name, value) in zip(program.kernel.arguments, leaves, strict=True):
        if program.kernel.types[slot].is_pointer:
            arguments[slot] = _tensor(name, seen)
        elif isinstance(value, float):
            arguments[slot] = value
        else:
            arguments[slot] = _number(name, [int(launch.scalars[name]) for launch, _, _ in seen], seen, world)
    grid = tuple(_grid(axis, [launch.grid[axis] for launch, _, _ in seen], world) for axis in range(3))
    return Symbolic(program, arguments, grid, first)


Seen = tuple[Launch, dict[str, Any], dict[str, int]]


def _record(operator: Callable[..., Any], world: World, probe: dict[str, int], configuration: int) -> Seen:
    """One call: its only launch, its tensors by the contract's names, its sizes by theirs."""
    sizes = {**probe, **world.fixed}
    tensors, sizes = _call(world, sizes)
    geometry = world.geometry
    with Recorder(checks=False, configuration=configuration) as machine:
        try:
            out = operator(
                **tensors, off_s=geometry.off_s, ws=geometry.ws, block_size=geometry.N,
                activation=world.activation, use_residual=world.use_residual,
            )  # fmt: skip  # as in the contract
        except BaseException as error:
            if is_of_the_user(error):
                raise
            reason = NotJudged(f"the operator raised {type(error).__name__}: {error}")
            reason.is_refusal = isinstance(error, (AssertionError, ValueError, TypeError))
            raise reason from None
    if len(machine.launches) != 1:
        raise NotJudged(f"the operator makes {len(machine.launches)} launches, and one is understood")
    x = tensors["x"]
    if not isinstance(out, torch.Tensor) or (out.shape, out.dtype) != (x.shape, x.dtype) or not out.is_contiguous():
        raise NotJudged("the operator returns no contiguous tensor of the shape and dtype of x")
    return machine.launches[0], {**tensors, "out": out}, sizes


def _call(world: World, sizes: dict[str, int]) -> tuple[dict[str, Any], dict[str, int]]:
    """Tensors of these sizes, the large ones never touched; pages and table rows lie apart, rows of x if asked for."""
    geometry = world.geometry
    C, W, H, N, D = geometry.C, geometry.W, geometry.H, geometry.N, geometry.D
    T, R, width, num_blocks = (sizes[name] for name in ("T", "R", "width", "num_blocks"))
    dtype = DTYPES[geometry.dtype]
    row = C + 3 + R if world.rows_apart else C
    table_row = sizes.get(TABLE_ROW, width + 100)
    page = sizes.get(PAGE, H * N * D + 1000 + R)
    tensors = {
        "x": torch.empty(T * row, dtype=dtype).as_strided((T, C), (row, 1)),
        "weight": torch.empty((C, W), dtype=dtype),
        "cache": torch.empty(num_blocks * page, dtype=dtype).as_strided((num_blocks, H, N, D), (page, N * D, D, 1)),
        "positions": torch.zeros(T, dtype=torch.int64),
        "block_table": torch.zeros(R * table_row, dtype=torch.int32).as_strided((R, width), (table_row, 1)),
        "seq_idx": torch.zeros(T, dtype=torch.int32),
        "slot_mapping": torch.zeros(T, dtype=torch.int64),
        "query_start": torch.zeros(T, dtype=torch.int32),
    }
    return tensors, {**sizes, ROW: row, TABLE_ROW: table_row, PAGE: page}


def _tensor(name: str, seen: list[Seen]) -> str:
    """Which tensor of the call a pointer is, by its address."""
    found = set()
    for launch, tensors, _ in seen:
        given = launch.tensors[name]
        address = getattr(given, "base", given).data_ptr()
        same = [key for key, one in tensors.items() if isinstance(one, torch.Tensor) and one.data_ptr() == address]
        found.add(same[0] if same else "")
    if len(found) > 1 or "" in found:
        raise NotJudged(f"the kernel's argument {name} begins at no tensor of the call")
    return found.pop()


def _number(name: str, values: list[int], seen: list[Seen], world: World) -> Form:
    """Which size, stride or constant a number is in every call."""
    for symbol in sorted({key for _, _, sizes in seen for key in sizes}):
        if [sizes[symbol] for _, _, sizes in seen] == values and symbol not in world.fixed:
            if symbol in (PAGE, TABLE_ROW) or (symbol == ROW and world.rows_apart):
                return Form.stride(symbol)
            if symbol != ROW:
                return Form.of(world.size(symbol))
    if len(set(values)) == 1:
        return Form.of(values[0])
    raise NotJudged(f"the kernel's argument {name} is no size or stride of the call: {values} in calls of {ROWS} rows")


def _grid(axis: int, values: list[int], world: World) -> z3.ArithRef:
    """A number of programs: constant, or the rows divided by a tile, rounded up or down."""
    rows = [world.fixed.get("T", T) for T in ROWS]
    if len(set(values)) == 1:
        return z3.IntVal(values[0])
    for tile in range(1, MOST_TILE):
        for more in (tile - 1, 0):
            if [(T + more) // tile for T in rows] == values:
                return (world.T + more) / tile
    raise NotJudged(f"axis {axis} of the grid has {values} programs for {ROWS} rows")
