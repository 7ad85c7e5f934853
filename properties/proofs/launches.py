"""From real calls of an operator to one symbolic launch: which argument is which size, stride or tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch
import z3

from properties import journal
from properties.interrupts import is_of_the_user
from properties.printable import told
from properties.proofs.forms import Form
from properties.ttir import Launch, Machine, cache, frontend
from properties.ttir.program import Function, Program

if TYPE_CHECKING:
    from properties.proofs.walk import Plan

MOST_TILE = 4096  # rows
MOST_OFFSET = 2  # from a size to an argument: the last request, one more than the rows


class NotJudged(Exception):
    """Why an obligation cannot be judged, in one line."""

    is_refusal = False  # the operator itself refuses the call, as the contract lets it
    is_by_size = False  # sizes lead to different programs


@dataclass
class Symbolic:
    """A kernel with every argument a tensor, a number or a form over the sizes; `grid` as expressions."""

    program: Program
    arguments: dict[int, Any]  # slot -> Form, name of a tensor, or a float
    grid: tuple[z3.ArithRef, ...]
    launch: Launch
    is_cut: bool = False  # whether loops are cut at their invariant, not unrolled
    plan: Plan | None = None  # of the body, once an evaluation has walked it

    @property
    def function(self) -> Function:
        """The kernel's body."""
        return self.program.kernel


@dataclass(frozen=True)
class Seen:
    """One call: its only launch, its tensors and its sizes by the contract's names, and what it returned."""

    launch: Launch
    tensors: dict[str, Any]
    sizes: Mapping[str, int]
    result: Any


class Recorder(Machine):
    """Notes launches and runs none."""

    def _run(self, bound: frontend.Bound, kernel: str, grid: tuple[int, int, int]) -> None:
        """Leaves the launch at that: what it computes is asked of the symbols."""


def record(
    operator: Callable[..., Any], arguments: Mapping[str, Any], sizes: Mapping[str, int], configuration: int = 0
) -> Seen:
    """Calls an operator. Raises NotJudged where it raises, or launches anything but one kernel."""
    with (
        journal.calling(getattr(operator, "__name__", "the operator")),
        Recorder(checks=False, configuration=configuration) as machine,
    ):
        try:
            result = operator(**arguments)
        except BaseException as error:
            if is_of_the_user(error):
                raise
            reason = NotJudged(f"the operator raised {told(error)}")
            reason.is_refusal = isinstance(error, (AssertionError, ValueError, TypeError))
            raise reason from None
    if len(machine.launches) != 1:
        raise NotJudged(f"the operator makes {len(machine.launches)} launches, and one is understood")
    tensors = {name: one for name, one in arguments.items() if isinstance(one, torch.Tensor)}
    return Seen(machine.launches[0], tensors, sizes, result)


def symbolic(
    seen: Sequence[Seen], of: Callable[[str], Form], rows: Mapping[str, z3.ArithRef],
    own: Mapping[str, Form] = MappingProxyType({}), is_cut: bool = False,
) -> Symbolic:  # fmt: skip  # what is read, and how
    """Reads off what each argument of a launch is. Raises NotJudged.

    of: the symbol of a size. rows: sizes that the grid may follow. own: arguments that are known by their names.
    """
    first = seen[0].launch
    if len({one.launch.bound.key for one in seen}) > 1:
        reason = NotJudged("the launch compiles to different code for different sizes")
        reason.is_by_size = True
        raise reason
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
            arguments[slot] = own[name] if name in own else number(name, seen, of)
    grid = tuple(_grid(axis, seen, rows) for axis in range(3))
    return Symbolic(program, arguments, grid, first, is_cut)


def _tensor(name: str, seen: Sequence[Seen]) -> str:
    """Which tensor of the call a pointer is, by its address."""
    found = set()
    for one in seen:
        given = one.launch.tensors[name]
        address = getattr(given, "base", given).data_ptr()
        found.add(next((key for key, tensor in one.tensors.items() if tensor.data_ptr() == address), ""))
    if len(found) > 1 or "" in found:
        raise NotJudged(f"the kernel's argument {name} begins at no tensor of the call")
    return found.pop()


def number(name: str, seen: Sequence[Seen], of: Callable[[str], Form]) -> Form:
    """Which size, stride or constant an argument is in every call."""
    found = explanations(name, seen)
    if not found:
        values = ", ".join(str(one.launch.scalars[name]) for one in seen[:3])
        raise NotJudged(f"the kernel's argument {name} is no size or stride of the calls: it is {values} in three")
    symbol, offset = min(found, key=lambda one: (one[0] != "", abs(one[1]), one[0]))
    if not symbol:
        return Form.of(offset)
    return of(symbol) + Form.of(offset) if offset else of(symbol)


def explanations(name: str, seen: Sequence[Seen]) -> set[tuple[str, int]]:
    """What an argument may be in all calls: a size's name and what is added to it, or no name and a constant."""
    every = []
    for one in seen:
        value = int(one.launch.scalars[name])
        near = {(symbol, value - size) for symbol, size in one.sizes.items() if abs(value - size) <= MOST_OFFSET}
        every.append({("", value)} | near)
    return set.intersection(*every)


def _grid(axis: int, seen: Sequence[Seen], rows: Mapping[str, z3.ArithRef]) -> z3.ArithRef:
    """A number of programs: constant, or rows divided by a tile, rounded up or down, times a constant."""
    values = [one.launch.grid[axis] for one in seen]
    if len(set(values)) == 1:
        return z3.IntVal(values[0])
    common = gcd(*values)
    for name, symbol in rows.items():
        counts = [one.sizes[name] for one in seen]
        for beside in (one for one in range(1, common + 1) if common % one == 0):  # tiles of the same rows
            wanted = [value // beside for value in values]
            for tile in range(1, MOST_TILE):
                for more in (tile - 1, 0):
                    if [(count + more) // tile for count in counts] == wanted:
                        return beside * ((symbol + more) / tile) if beside > 1 else (symbol + more) / tile
    words = f"{sorted(set(values))} programs for {sorted({one.sizes[name] for one in seen for name in rows})} rows"
    raise NotJudged(f"axis {axis} of the grid has {words}")
