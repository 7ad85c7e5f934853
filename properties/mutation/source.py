"""A kernel file as text and tree, and mutants of it: one span of the text replaced."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from properties.contract import OPERATORS

LAUNCH_OPTIONS = ("num_warps", "num_stages", "num_ctas")


@dataclass(frozen=True)
class Mutant:
    """One replacement in one function of one file: `old`, which stands at `start`, becomes `new`.

    start: in characters from the beginning of the file.
    number: counts mutants of the same operator, function and texts, so that `key` names one mutant alone.
    """

    operator: str
    file: str
    function: str
    line: int
    start: int
    old: str
    new: str
    number: int = 0
    serves: str = ""  # the operator of the contract that the function is part of

    @property
    def key(self) -> str:
        """A name that stays while other lines of the file change."""
        again = f" #{self.number}" if self.number else ""
        return f"{self.file}:{self.function} {self.operator}: {_flat(self.old)} -> {_flat(self.new)}{again}"

    def apply(self, text: str) -> str:
        """The file's text with the replacement; raises ValueError if `old` does not stand where it should."""
        stop = self.start + len(self.old)
        if text[self.start : stop] != self.old:
            raise ValueError(f"{self.key}: {text[self.start : stop]!r} stands there")
        return text[: self.start] + self.new + text[stop:]


def _flat(text: str) -> str:
    return " ".join(text.split())


@dataclass
class Function:
    """A function of the file: a kernel (`@triton.jit`) or a host function that launches one or is an operator."""

    source: Source
    node: ast.FunctionDef
    is_kernel: bool

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name

    @cached_property
    def body(self) -> list[ast.AST]:
        """Every node of the body in reading order; decorators, signature, docstring and launch options left out."""
        statements = self.node.body[1:] if ast.get_docstring(self.node) else self.node.body
        found = [node for statement in statements for node in _walk(statement)]
        return sorted(found, key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of every node of the function."""
        return {child: node for node in ast.walk(self.node) for child in ast.iter_child_nodes(node)}

    @property
    def parameters(self) -> list[str]:
        """Its parameters by name."""
        return [argument.arg for argument in self.node.args.args]

    def text(self, node: ast.AST) -> str:
        """The text of a node, as it stands."""
        return self.source.text_of(node)

    def operand(self, node: ast.AST) -> str:
        """The text of a node, in parentheses where an operator beside it could take a part of it."""
        is_whole = isinstance(node, (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript))
        return self.text(node) if is_whole else f"({self.text(node)})"

    def of(self, kind: type[ast.AST]) -> Iterator[ast.AST]:
        """Nodes of a kind."""
        return (node for node in self.body if isinstance(node, kind))

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls of functions of those names, whatever module they are looked up in: `load`, `maximum`."""
        for node in self.body:
            if isinstance(node, ast.Call) and called(node) in names:
                yield node


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below, without what says how a kernel is compiled: that changes no result."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.keyword) and child.arg in LAUNCH_OPTIONS):
            yield from _walk(child)


def called(call: ast.Call) -> str:
    """The last name of what is called: `load` of `tl.load(...)`, `to` of `x.to(...)`; empty if it has none."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


class Source:
    """One kernel file, its functions found."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.tree = ast.parse(text)
        self._lines = [0]
        for line in text.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line.encode()))
        self._is_ascii = text.isascii()

    @classmethod
    def read(cls, path: Path) -> Source:
        """Reads a file; raises SyntaxError or OSError."""
        return cls(path.name, path.read_text())

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node's text begins and ends."""
        first = self._lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]  # of expressions
        last = self._lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]  # and statements
        if self._is_ascii:
            return first, last
        data = self.text.encode()
        return len(data[:first].decode()), len(data[:last].decode())

    @cached_property
    def functions(self) -> list[Function]:
        """Kernels, then host functions that launch one of them or have an operator's name."""
        every = [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]
        kernels = [Function(self, node, True) for node in every if any(_is_jit(one) for one in node.decorator_list)]
        names = {kernel.name for kernel in kernels}
        hosts = [Function(self, node, False) for node in every if node.name not in names]
        return kernels + [host for host in hosts if host.name in OPERATORS or any(self._launches(host, names))]

    def serves(self, function: Function) -> str:
        """The host function that a function is, or that launches it, directly or through another kernel."""
        if not function.is_kernel:
            return function.name
        known = {function.name}
        for kernel in self.functions:
            if kernel.is_kernel and any(
                called(call) in known for call in kernel.of(ast.Call) if isinstance(call, ast.Call)
            ):
                known.add(kernel.name)
        for host in self.functions:
            for launch in [] if host.is_kernel else self.launches(host):
                if isinstance(launch.func, ast.Subscript) and self.text_of(launch.func.value) in known:
                    return host.name
        return ""

    def text_of(self, node: ast.AST) -> str:
        """The text of a node, as it stands."""
        start, stop = self.span(node)
        return self.text[start:stop]

    def launches(self, host: Function) -> Iterator[ast.Call]:
        """Calls of the form `kernel[grid](...)` in a host function."""
        return self._launches(host, {one.name for one in self.functions if one.is_kernel})

    def _launches(self, host: Function, names: set[str]) -> Iterator[ast.Call]:
        for node in host.body:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
                launched = node.func.value
                if isinstance(launched, ast.Name) and launched.id in names:
                    yield node


def _is_jit(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return "jit" in (getattr(target, "attr", ""), getattr(target, "id", ""))
