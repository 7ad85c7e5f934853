"""Launches: the grid, the arguments and the tiles that the host hands over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar

from ..source import LAUNCH_OPTIONS, Function, called
from . import Change, Operator


class Grid(Operator):
    """A grid is one program too small or too large, or leaves the last tile out."""

    name = "grid"
    where = "host"

    def changes(self, function: Function) -> Iterator[Change]:
        """`cdiv` without its rounding up, one less and one more."""
        for call in function.calls("cdiv"):
            size, tile = (function.operand(one) for one in call.args)
            yield call, f"max(1, {size} // {tile})"
            yield call, f"max(1, {function.text(call)} - 1)"
            yield call, f"({function.text(call)} + 1)"


class SwapArguments(Operator):
    """Two arguments of a like type are exchanged at a launch."""

    name = "swap_arguments"
    where = "host"

    def changes(self, function: Function) -> Iterator[Change]:
        """Neighbours of a kind: tensors, strides, numbers; arguments by name with the next of them."""
        for launch in function.source.launches(function):
            named = [one.value for one in launch.keywords if one.arg not in (None, *LAUNCH_OPTIONS)]
            alike = [pair for pair in pairwise(launch.args) if _kind(function, pair[0]) == _kind(function, pair[1])]
            for left, right in [*alike, *pairwise(named)]:
                between = function.source.text[function.source.span(left)[1] : function.source.span(right)[0]]
                yield _Pair(left, right), f"{function.text(right)}{between}{function.text(left)}"


class _Pair(ast.expr):
    """The span from one node to another."""

    def __init__(self, first: ast.expr, last: ast.expr) -> None:
        super().__init__()
        self.lineno, self.col_offset = first.lineno, first.col_offset
        self.end_lineno, self.end_col_offset = last.end_lineno, last.end_col_offset


def _kind(function: Function, node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return called(node)  # stride
    if isinstance(node, ast.Name):
        annotations = {one.arg: one.annotation for one in function.node.args.args}
        annotation = annotations.get(node.id)
        is_tensor = annotation is not None and "Tensor" in function.text(annotation)
        return "tensor" if is_tensor or node.id == "out" else "number"
    return "number"


class IgnoreArgument(Operator):
    """An argument of the operator is not looked at."""

    name = "ignore_argument"
    where = "host"
    INSTEAD: ClassVar = {"int": ("0", "1"), "bool": ("True", "False"), "str | None": ("None",)}

    def changes(self, function: Function) -> Iterator[Change]:
        """Each use of a number or a flag, replaced by a constant."""
        kinds = {one.arg: function.text(one.annotation) for one in function.node.args.args if one.annotation}
        for node in function.of(ast.Name):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not _checks(function, node):
                for instead in self.INSTEAD.get(kinds.get(node.id, ""), ()):
                    yield node, instead


def _checks(function: Function, node: ast.AST) -> bool:
    """Whether a node is an argument of a call whose result nobody takes, other than a launch: such a call checks."""
    call = function.parents[node]
    is_alone = isinstance(call, ast.Call) and isinstance(function.parents[call], ast.Expr)
    return is_alone and isinstance(call, ast.Call) and not isinstance(call.func, ast.Subscript)


class StrideOfOther(Operator):
    """A stride or size of the wrong dimension."""

    name = "wrong_dimension"
    where = "host"

    def changes(self, function: Function) -> Iterator[Change]:
        """`t.stride(i)` and `t.shape[i]` with another i."""
        for call in function.calls("stride"):
            number = call.args[0] if call.args else None
            if isinstance(number, ast.Constant) and isinstance(number.value, int):
                yield number, str(number.value + 1 if number.value == 0 else number.value - 1)


OPERATORS: list[type[Operator]] = [Grid, SwapArguments, IgnoreArgument, StrideOfOther]
