"""Index arithmetic: off by one, the wrong operation, the wrong number, 32 bits where 64 are needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from ..source import Function, called
from . import Change, Operator


class OffsetByOne(Operator):
    """An address is one element off."""

    name = "offset_by_one"

    def changes(self, function: Function) -> Iterator[Change]:
        """The pointer of a load or store, plus and minus 1."""
        for call in function.calls("load", "store"):
            pointer = function.text(call.args[0])
            yield call.args[0], f"{pointer} + 1"
            yield call.args[0], f"{pointer} - 1"


class LoadedByOne(Operator):
    """What a load returned is one off: a request, a block, a first row, a position."""

    name = "loaded_by_one"

    def changes(self, function: Function) -> Iterator[Change]:
        """A loaded value, plus and minus 1."""
        for call in function.calls("load"):
            yield call, f"({function.text(call)} + 1)"
            yield call, f"({function.text(call)} - 1)"


def border_step(parent: ast.AST, border: ast.AST) -> int | None:
    """The step of a comparison's right side, a whole number, that another sign of the comparison gives as well."""
    if not isinstance(parent, ast.Compare) or border is not parent.comparators[0]:
        return None
    return {ast.Lt: 1, ast.GtE: 1, ast.Gt: -1, ast.LtE: -1}.get(type(parent.ops[0]))


class Constant(Operator):
    """A whole number is one more or one less."""

    name = "constant"
    where = "both"

    def changes(self, function: Function) -> Iterator[Change]:
        """Every literal but those of `other`; of a border's two neighbours the one that no comparison gives as well."""
        for node in function.of(ast.Constant):
            if not isinstance(node, ast.Constant) or type(node.value) is not int:
                continue
            parent = function.parents[node]
            outer = function.parents.get(parent) if isinstance(parent, ast.UnaryOp) else parent
            if isinstance(outer, ast.keyword) and outer.arg == "other":
                continue
            steps = {1, -1} - {border_step(parent, node)}
            yield from (
                (node, f"{node.value + 1}" if step > 0 else f"({node.value - 1})") for step in sorted(steps)[::-1]
            )


class Division(Operator):
    """`//` and `%` in place of one another."""

    name = "division"
    where = "both"

    def changes(self, function: Function) -> Iterator[Change]:
        """The other operation of the same numbers."""
        for node in function.of(ast.BinOp):
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
                sign = "%" if isinstance(node.op, ast.FloorDiv) else "//"
                yield node, f"{function.operand(node.left)} {sign} {function.operand(node.right)}"


class Sign(Operator):
    """`+` and `-` in place of one another."""

    name = "sign"
    where = "both"

    def changes(self, function: Function) -> Iterator[Change]:
        """The right side in parentheses, so that nothing else changes."""
        for node in function.of(ast.BinOp):
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
                sign = "-" if isinstance(node.op, ast.Add) else "+"
                yield node, f"{function.operand(node.left)} {sign} ({function.text(node.right)})"


class Clamp(Operator):
    """A clamp that is dropped, or holds from the other side."""

    name = "clamp"
    where = "both"
    OTHER: ClassVar = {"minimum": "maximum", "maximum": "minimum", "min": "max", "max": "min"}

    def changes(self, function: Function) -> Iterator[Change]:
        """The bare values, and the other of minimum and maximum."""
        for call in function.calls(*self.OTHER):
            if len(call.args) != 2:
                continue
            name = function.text(call.func)
            inside = ", ".join(function.text(one) for one in call.args)
            yield call, f"{name[: -len(called(call))]}{self.OTHER[called(call)]}({inside})"
            yield call, f"({function.text(call.args[0])})"
            yield call, f"({function.text(call.args[1])})"


class DropWide(Operator):
    """An index stays in 32 bits."""

    name = "drop_int64"

    def changes(self, function: Function) -> Iterator[Change]:
        """`.to(tl.int64)` and `tl.cast(..., tl.int64)` left out."""
        yield from casts(function, "int64")


def casts(function: Function, dtype: str) -> Iterator[Change]:
    """Casts to a dtype, left out."""
    for call in function.calls("to", "cast"):
        if not call.args or not function.text(call.args[-1]).endswith(dtype):
            continue
        if called(call) == "cast":
            yield call, f"({function.text(call.args[0])})"
        elif isinstance(call.func, ast.Attribute):
            yield call, f"{function.text(call.func.value)}"


class SwapStride(Operator):
    """A product takes a neighbouring stride of the kernel in place of its own."""

    name = "swap_stride"

    def changes(self, function: Function) -> Iterator[Change]:
        """Names that contain `stride`, each exchanged for its neighbours in the signature."""
        strides = [name for name in function.parameters if "stride" in name]
        yield from _exchanged(function, strides)


class SwapPointer(Operator):
    """An access goes to a neighbouring tensor."""

    name = "swap_pointer"

    def changes(self, function: Function) -> Iterator[Change]:
        """Names that end in `ptr`, each exchanged for its neighbours in the signature."""
        yield from _exchanged(function, [name for name in function.parameters if name.endswith("ptr")])


class SwapSize(Operator):
    """`W` in place of `N`, and the other way round."""

    name = "swap_W_N"

    def changes(self, function: Function) -> Iterator[Change]:
        """Both have to be parameters of the kernel."""
        if {"W", "N"} <= set(function.parameters):
            yield from _exchanged(function, ["W", "N"])


def _exchanged(function: Function, names: list[str]) -> Iterator[Change]:
    """Each use of one of the names, replaced by the next of them, and by the one before."""
    if len(names) < 2:
        return
    after = dict(zip(names, [*names[1:], names[0]], strict=True))
    before = {new: old for old, new in after.items()}
    kernels = {one.name for one in function.source.functions if one.is_kernel}
    for node in function.of(ast.Name):
        parent = function.parents.get(node)
        is_handed_on = isinstance(parent, ast.Call) and called(parent) in kernels  # changed where it is used
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in after and not is_handed_on:
            yield from ((node, new) for new in dict.fromkeys((after[node.id], before[node.id])))


OPERATORS: list[type[Operator]] = [
    OffsetByOne, LoadedByOne, Constant, Division, Sign, Clamp, DropWide, SwapStride, SwapPointer, SwapSize,
]  # fmt: skip  # a list of names reads better in rows
