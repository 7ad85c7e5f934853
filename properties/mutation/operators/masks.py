"""Masks, comparisons and branches that let too much or too little through."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from ..source import Function
from . import Change, Operator


class DropMaskTerm(Operator):
    """One side of `a & b` or `a | b` is left out."""

    name = "drop_mask_term"

    def changes(self, function: Function) -> Iterator[Change]:
        """Either side stands alone."""
        for node in function.of(ast.BinOp):
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
                yield node, f"({function.text(node.left)})"
                yield node, f"({function.text(node.right)})"


class DropMask(Operator):
    """A load or store without its mask."""

    name = "drop_mask"

    def changes(self, function: Function) -> Iterator[Change]:
        """The call without `mask` and `other`."""
        for call in function.calls("load", "store"):
            kept = [function.text(one) for one in call.args]
            kept += [
                f"{one.arg}={function.text(one.value)}" for one in call.keywords if one.arg not in ("mask", "other")
            ]
            if any(one.arg == "mask" for one in call.keywords):
                yield call, f"{function.text(call.func)}({', '.join(kept)})"


class ChangeOther(Operator):
    """Lanes that are masked off get another value, or none."""

    name = "change_other"

    def changes(self, function: Function) -> Iterator[Change]:
        """`other` left out, or its value changed."""
        for call in function.calls("load"):
            for keyword in call.keywords:
                if keyword.arg != "other":
                    continue
                rest = [function.text(one) for one in call.args]
                rest += [f"{one.arg}={function.text(one.value)}" for one in call.keywords if one is not keyword]
                yield call, f"{function.text(call.func)}({', '.join(rest)})"
                yield keyword.value, f"({function.text(keyword.value)} + 1)"


class Compare(Operator):
    """`<`, `<=`, `>`, `>=`, `==` in place of one another."""

    name = "compare"
    where = "both"
    INSTEAD: ClassVar = {
        ast.Lt: ("<=", ">"),
        ast.LtE: ("<", ">"),
        ast.Gt: (">=", "<"),
        ast.GtE: (">", "<"),
        ast.Eq: ("!=",),
        ast.NotEq: ("==",),
    }

    def changes(self, function: Function) -> Iterator[Change]:
        """The border moved by one, and the comparison turned round."""
        for node in function.of(ast.Compare):
            if isinstance(node, ast.Compare) and len(node.ops) == 1:
                left, right = function.operand(node.left), function.operand(node.comparators[0])
                for sign in self.INSTEAD.get(type(node.ops[0]), ()):
                    yield node, f"{left} {sign} {right}"


class Branch(Operator):
    """An `if` that is always, or never, taken; in a host function, a guard that is dropped or always raises."""

    name = "branch"
    where = "both"

    def changes(self, function: Function) -> Iterator[Change]:
        """The condition as a constant; a kernel's compile-time switches among them."""
        for node in function.body:
            if isinstance(node, (ast.If, ast.IfExp)):
                yield node.test, "True"
                yield node.test, "False"


class SelectOther(Operator):
    """`where` takes the same side always, or the wrong one."""

    name = "select"

    def changes(self, function: Function) -> Iterator[Change]:
        """Either side alone, and both exchanged."""
        for call in function.calls("where"):
            condition, yes, no = (function.text(one) for one in call.args)
            name = function.text(call.func)
            yield call, f"{name}({condition}, {no}, {yes})"
            yield call, f"{name}({condition}, {yes}, {yes})"
            yield call, f"{name}({condition}, {no}, {no})"


OPERATORS: list[type[Operator]] = [DropMaskTerm, DropMask, ChangeOther, Compare, Branch, SelectOther]
