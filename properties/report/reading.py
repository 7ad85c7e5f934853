"""Reads a case from its text without evaluating it: a report may come from somebody else."""

from __future__ import annotations

import ast
from typing import Any

from properties import cases, lives, replays
from properties.cases import Case

CASES = {
    name: one
    for module in (cases, lives, replays)
    for name, one in vars(module).items()
    if isinstance(one, type) and issubclass(one, Case)
}


def read(text: str) -> Any:
    """The case whose repr `text` is. Raises ValueError where it is none."""
    try:
        return _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, TypeError, RecursionError) as error:
        raise ValueError(f"no case: {text[:80]!r} ({error})") from None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Tuple(elts=parts):
            return tuple(_value(part) for part in parts)
        case ast.Call(func=ast.Name(id=name), args=given, keywords=named) if name in CASES:
            return CASES[name](*map(_value, given), **{str(one.arg): _value(one.value) for one in named})
    raise ValueError(f"no case: {ast.unparse(node)[:80]!r}; allowed: {', '.join(sorted(CASES))} of constants")
