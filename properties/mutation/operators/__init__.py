"""Operators: each a small class that knows one way in which a kernel is wrong."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ..source import Function, Mutant, Source

Change = tuple[ast.AST, str]  # a node, and the text that replaces it


class Operator:
    """One way of being wrong: `changes` yields nodes of a function with what replaces their text."""

    name: ClassVar[str]
    where: ClassVar[str] = "kernel"  # "kernel", "host" or "both"

    def changes(self, function: Function) -> Iterator[Change]:
        """Every change that this operator makes to a function."""
        raise NotImplementedError


def register(operators: list[type[Operator]]) -> dict[str, Operator]:
    """Operators by name."""
    return {one.name: one() for one in operators}


def every() -> dict[str, Operator]:
    """All operators by name."""
    from . import arithmetic, hosts, launches, masks, numerics, taps

    modules = (masks, arithmetic, taps, numerics, launches, hosts)
    return {name: one for module in modules for name, one in register(module.OPERATORS).items()}


def mutants(source: Source, names: list[str] | None = None) -> list[Mutant]:
    """Every mutant of a file, in the order of operators; texts that change nothing, or twice the same, are left out.

    names: of the operators wanted; all where None.
    """
    found: list[Mutant] = []
    texts: set[tuple[int, str, str]] = set()
    counts: Counter[str] = Counter()
    before = ast.dump(source.tree)
    for name, operator in every().items():
        if names is not None and name not in names:
            continue
        for function in source.functions:
            if operator.where != "both" and function.is_kernel != (operator.where == "kernel"):
                continue
            serves = source.serves(function)
            for node, new in operator.changes(function):
                start, stop = source.span(node)
                old = source.text[start:stop]
                if (start, old, new) in texts:
                    continue
                texts.add((start, old, new))
                line = node.lineno  # type: ignore[attr-defined]  # of expressions and statements
                mutant = Mutant(name, source.name, function.name, line, start, old, new, serves=serves)
                if _same(before, mutant.apply(source.text)):
                    continue
                found.append(replace(mutant, number=counts[mutant.key]))
                counts[mutant.key] += 1
    return found


def _same(before: str, text: str) -> bool:
    """Whether a changed text means what the original means; one that is no Python is told when it is tried."""
    try:
        return ast.dump(ast.parse(text)) == before
    except SyntaxError:
        return False
