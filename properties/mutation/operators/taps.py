"""Taps, loops and tiles: one left out, one too many, in the wrong order, at the wrong place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..source import Function, called
from . import Change, Operator
from .arithmetic import border_step


class Loop(Operator):
    """A loop makes one round less or one more, or leaves its first out: a tap, a step of a search."""

    name = "loop"

    def changes(self, function: Function) -> Iterator[Change]:
        """The bounds of `range`, `tl.range` and `tl.static_range`."""
        for call in function.calls("range", "static_range"):
            name, bound = function.text(call.func), function.text(call.args[-1])
            if len(call.args) == 1:
                yield call, f"{name}({bound} - 1)"
                yield call, f"{name}({bound} + 1)"
                yield call, f"{name}(1, {bound})"


class ReverseTaps(Operator):
    """A use of a loop's counter counts from the other end: weights or inputs newest first."""

    name = "reverse_taps"

    def changes(self, function: Function) -> Iterator[Change]:
        """Each use of the counter of a loop over a compile-time range."""
        for loop in function.of(ast.For):
            if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
                continue
            if called(loop.iter) != "static_range" or len(loop.iter.args) != 1 or not isinstance(loop.target, ast.Name):
                continue
            last = f"({function.text(loop.iter.args[0])} - 1 - {loop.target.id})"
            for node in ast.walk(loop):
                if isinstance(node, ast.Name) and node.id == loop.target.id and isinstance(node.ctx, ast.Load):
                    yield node, last


class OverlapTiles(Operator):
    """Tiles overlap by one, or leave one out between them."""

    name = "overlap_tiles"

    def changes(self, function: Function) -> Iterator[Change]:
        """The step of a program: a product of a program's number and a tile."""
        for node in function.of(ast.BinOp):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and _is_program(function, node.left):
                left, right = function.operand(node.left), function.operand(node.right)
                yield node, f"{left} * ({right} - 1)"
                yield node, f"{left} * ({right} + 1)"


def _is_program(function: Function, node: ast.AST) -> bool:
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    numbers = {"program_id"} & {called(one) for one in ast.walk(node) if isinstance(one, ast.Call)}
    for assign in function.of(ast.Assign):
        if isinstance(assign, ast.Assign) and isinstance(assign.targets[0], ast.Name):
            is_number = "program_id" in function.text(assign.value)
            if is_number and assign.targets[0].id in names:
                return True
    return bool(numbers)


class WindowBorder(Operator):
    """The border between the taps of this forward and cached ones is off: slots just written are read back."""

    name = "window_border"

    def changes(self, function: Function) -> Iterator[Change]:
        """The right side of a comparison of rows, one and two off, but for what another sign gives as well."""
        for node in function.of(ast.Compare):
            right = node.comparators[0] if isinstance(node, ast.Compare) else node
            is_literal = isinstance(right, ast.Constant)  # those are Constant's
            if isinstance(node, ast.Compare) and "row" in function.text(node.left) and not is_literal:
                steps = [step for step in (1, 2, -1) if step != border_step(node, right)]
                yield from ((right, f"({function.text(right)} + {step})".replace("+ -", "- ")) for step in steps)


OPERATORS: list[type[Operator]] = [Loop, ReverseTaps, OverlapTiles, WindowBorder]
