"""Numbers: rounded too early, truncated, scaled, accumulated low, stored in place of others."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..source import Function, called
from . import Change, Operator
from .arithmetic import casts


class DropFloat(Operator):
    """A number stays in the low precision that it was loaded in."""

    name = "drop_float32"

    def changes(self, function: Function) -> Iterator[Change]:
        """`.to(tl.float32)` left out."""
        yield from casts(function, "float32")


class RoundEachTap(Operator):
    """The accumulator is rounded to bf16 whenever something is added."""

    name = "round_accumulator"

    def changes(self, function: Function) -> Iterator[Change]:
        """`a += b` becomes a sum that is rounded."""
        for node in function.of(ast.AugAssign):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and not _moves(function, node):
                target, value = function.text(node.target), function.text(node.value)
                yield node, f"{target} = ({target} + {value}).to(tl.bfloat16).to(tl.float32)"


def _moves(function: Function, node: ast.AugAssign) -> bool:
    """Whether a pointer is moved on."""
    return function.text(node.target).endswith("ptr")


class Truncate(Operator):
    """The result is truncated to bf16 in place of rounded."""

    name = "truncate"

    def changes(self, function: Function) -> Iterator[Change]:
        """The low half of the bits is cleared before the cast at a store."""
        for number, call in _results(function):
            bits = f"({number}.to(tl.int32, bitcast=True) & -65536).to(tl.float32, bitcast=True)"
            yield call, f"{bits}.to({function.text(call.args[0])})"


class Scale(Operator):
    """The result is larger by 2^-k: the ladder that says how small an error is seen."""

    name = "scale"
    STEPS = range(3, 13)

    def changes(self, function: Function) -> Iterator[Change]:
        """k from 3 to 12."""
        for number, call in _results(function):
            for k in self.STEPS:
                yield call, f"({number} * {1 + 2.0**-k!r}).to({function.text(call.args[0])})"


def _results(function: Function) -> Iterator[tuple[str, ast.Call]]:
    """Casts of a number to the dtype of what it is stored in, and the number."""
    for call in function.calls("to"):
        parent = function.parents[call]
        is_stored = isinstance(parent, ast.Call) and called(parent) == "store"
        if is_stored and isinstance(call.func, ast.Attribute) and "element_ty" in function.text(call):
            yield function.text(call.func.value), call


class StoreOther(Operator):
    """A store takes what another store stores: the output in the cache."""

    name = "store_other"

    def changes(self, function: Function) -> Iterator[Change]:
        """Each value that is stored, in place of each other that is known by then."""
        stores = list(function.calls("store"))
        for store in stores:
            for other in stores:
                value, instead = store.args[1], other.args[1]
                if other is not store and other.lineno < store.lineno:
                    yield value, function.text(instead)


class StoreLow(Operator):
    """A sum in place of the input is stored: `x` in the cache becomes what was made of it."""

    name = "store_sum"

    def changes(self, function: Function) -> Iterator[Change]:
        """Stored names, in place of which a sum that is known by then is stored."""
        sums = {
            function.text(node.target): node.lineno
            for node in function.of(ast.AugAssign)
            if isinstance(node, ast.AugAssign)
        }
        for store in function.calls("store"):
            value = store.args[1]
            for name, line in sums.items():
                if isinstance(value, ast.Name) and line < store.lineno and not name.endswith("ptr"):
                    yield value, name


class Factor(Operator):
    """One factor of a product is left out: the weight of a tap, the sigmoid."""

    name = "drop_factor"

    def changes(self, function: Function) -> Iterator[Change]:
        """Either side of a product stands alone."""
        for node in function.of(ast.BinOp):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                yield node, f"({function.text(node.left)})"
                yield node, f"({function.text(node.right)})"


class DropStatement(Operator):
    """A statement is left out: a store, a tap, the residual."""

    name = "drop_statement"

    def changes(self, function: Function) -> Iterator[Change]:
        """Stores and additions."""
        for node in function.body:
            is_store = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and called(node.value) == "store"
            if is_store or isinstance(node, ast.AugAssign):
                yield node, "pass"


OPERATORS: list[type[Operator]] = [
    DropFloat, RoundEachTap, Truncate, Scale, StoreOther, StoreLow, Factor, DropStatement,
]  # fmt: skip  # a list of names reads better in rows
