"""TTIR text to a `Program`; the only place that knows how MLIR prints."""

from __future__ import annotations

import re

from . import source_locations
from .program import Block, Function, Location, Operation, Program, Region, Type
from .type_text import parse_type, result_types, split_top, unescaped

VALUE = re.compile(r"%[\w.$-]+(?:#\d+)?")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
LOCATION = re.compile(r"\s*loc\((.*)\)$")
RESULTS = re.compile(r"^((?:%[\w.$-]+(?::\d+)?(?:, )?)+) = (.*)$")
NAME = re.compile(r'^"?([a-z_]+\.[\w.]+)"?')
ARGUMENT = re.compile(r"(%[\w.$-]+): (.+?)(?= loc\(|, %|$| \{)")
ATTRIBUTE = re.compile(r"([\w.]+)(?: = ((?:[^,<\[(\"]|<[^>]*>|\[[^\]]*\]|\([^)]*\)|\"[^\"]*\")+))?")


class _Function:
    """Slots and types of the function that is being read."""

    def __init__(self) -> None:
        self.types: list[Type] = []

    def slot(self, type_: Type) -> int:
        self.types.append(type_)
        return len(self.types) - 1


def parse(text: str) -> Program:
    """Reads the text of a module; the public function is the kernel."""
    locations = source_locations.read(text)
    lines = [line.strip() for line in text.split("\n") if line.strip() and not line.startswith("#")]
    reader = _Reader(lines, locations)
    functions = reader.module()
    kernels = [function for function in functions.values() if function.is_public]
    return Program(kernels[0], functions)


class _Reader:
    def __init__(self, lines: list[str], locations: source_locations.Locations) -> None:
        self.lines = lines
        self.position = 0
        self.locations = locations
        self.function = _Function()

    def take(self) -> str:
        line = self.lines[self.position]
        self.position += 1
        return line

    def module(self) -> dict[str, Function]:
        functions: dict[str, Function] = {}
        while self.position < len(self.lines):
            line = self.take()
            if line.startswith("tt.func"):
                function = self.read_function(line)
                functions[function.name] = function
        return functions

    def read_function(self, line: str) -> Function:
        self.function = _Function()
        match = re.match(r'tt\.func (public |private )?@("[^"]*"|[\w.$-]+)\((.*)$', line)
        if match is None:
            raise ValueError(f"TTIR: not a function header: {line}")
        scope: dict[str, int] = {}
        arguments, names = [], []
        # the argument list ends where its parenthesis closes
        inside = _balanced(match[3])
        for piece in split_top(inside, ", "):
            if not piece.strip():
                continue
            name, rest = piece.split(": ", 1)
            type_text = re.split(r" loc\(| \{", rest)[0]
            slot = self.function.slot(parse_type(type_text))
            scope[name.strip()] = slot
            arguments.append(slot)
            label = re.search(r'loc\("([^"]+)"', rest)
            names.append(label[1] if label else name.strip()[1:])
        region, closing = self.region(scope, ())
        return Function(
            match[2].strip('"'),
            tuple(arguments),
            tuple(names),
            self.function.types,
            region,
            self.location(closing),
            is_public=(match[1] or "").strip() == "public",
        )

    def region(self, scope: dict[str, int], arguments: tuple[int, ...]) -> tuple[Region, str]:
        """Reads blocks until the line that closes the region, which it returns too."""
        scope = dict(scope)
        blocks = [Block("", arguments)]
        while True:
            line = self.take()
            if line.startswith("}"):
                return Region(blocks[1:] if len(blocks) > 1 and not blocks[0].operations else blocks), line
            if line.startswith("^"):
                blocks.append(self.block_header(line, scope))
                continue
            blocks[-1].operations.append(self.operation(line, scope))

    def block_header(self, line: str, scope: dict[str, int]) -> Block:
        match = re.match(r"(\^\w+)(?:\((.*)\))?:", line.split("  //")[0])
        if match is None:
            raise ValueError(f"TTIR: not a block header: {line}")
        arguments = []
        for piece in split_top(match[2] or "", ", "):
            if piece.strip():
                name, rest = piece.split(": ", 1)
                slot = self.function.slot(parse_type(rest.split(" loc(")[0]))
                scope[name.strip()] = slot
                arguments.append(slot)
        return Block(match[1], tuple(arguments))

    def location(self, line: str) -> Location:
        match = re.search(r" loc\(((?:[^()]|\([^()]*(?:\([^()]*\)[^()]*)*\))*)\)$", line)
        return self.locations.resolve(match[1]) if match else Location()

    def operation(self, line: str, scope: dict[str, int]) -> Operation:
        results_text, text = "", line
        match = RESULTS.match(line)
        if match:
            results_text, text = match[1], match[2]
        named = NAME.match(text)
        if named is None:
            raise ValueError(f"TTIR: not an operation: {line}")
        name = named[1]
        if text.endswith("{"):
            from .parse_regions import structured  # regions call back into this reader

            return structured(self, name, text, results_text, scope)
        body = _strip_location(text[named.end() :])
        operation, result_types = self.simple(name, body, scope)
        operation.location = self.location(line)
        operation.results = self.bind_results(results_text, result_types, scope)
        return operation

    def simple(self, name: str, body: str, scope: dict[str, int]) -> tuple[Operation, list[Type]]:
        literals = STRING.findall(body)
        attributes, plain = read_attributes(STRING.sub('""', body) if "{" not in body else body)
        operands = tuple(scope[value] for value in _expand(VALUE.findall(STRING.sub("", plain)), scope))
        pieces = split_top(plain, " : ")
        head = pieces[0]
        words = tuple(re.findall(r"(?<![%\w.#])[A-Za-z_]\w*(?![\w.])", STRING.sub("", re.sub(VALUE, "", head))))
        if name == "arith.constant":
            attributes["value"] = head.strip()
        for key, value in re.findall(r"(\w+) = (\w+)", head):
            attributes.setdefault(key, value)
        if literals:
            attributes["text"] = unescaped(literals[0][1:-1])
        operation = Operation(name, operands, (), attributes, words, Location())
        if name.startswith("cf."):
            operation.successors, operation.operands = _successors(head, scope, name)
        if name == "tt.call":
            callee = re.search(r'@("[^"]*"|[\w.$-]+)', body)
            attributes["callee"] = callee[1].strip('"') if callee else ""
        if name == "arith.constant" and head.strip() in ("true", "false"):
            return operation, [Type("i1")]  # printed without a type
        return operation, result_types(name, pieces[-1] if len(pieces) > 1 else "")

    def bind_results(self, text: str, types: list[Type], scope: dict[str, int]) -> tuple[int, ...]:
        slots: list[int] = []
        for piece in text.split(", ") if text else []:
            name, _, count = piece.strip().partition(":")
            for number in range(int(count or 1)):
                # tt.split prints the type that its results share once
                slot = self.function.slot(types[min(len(slots), len(types) - 1)])
                slots.append(slot)
                scope[f"{name}#{number}" if count else name] = slot
        return tuple(slots)


def _balanced(text: str) -> str:
    depth = 1
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[:position]
    raise ValueError(f"TTIR: unbalanced parentheses: {text[:80]}")


def _strip_location(text: str) -> str:
    position = text.rfind(" loc(")
    return text[:position] if position >= 0 else text


def _expand(names: list[str], scope: dict[str, int]) -> list[str]:
    return [name for name in names if name in scope or _missing(name)]


def _missing(name: str) -> bool:
    raise ValueError(f"TTIR: the value {name} is used before it is defined")


def _successors(head: str, scope: dict[str, int], name: str):
    targets = []
    for label, arguments in re.findall(r"(\^\w+)(?:\(([^)]*)\))?", head):
        targets.append((label, tuple(scope[value] for value in VALUE.findall(arguments))))
    condition = VALUE.search(head.split("^")[0]) if name == "cf.cond_br" else None
    return tuple(targets), (scope[condition[0]],) if condition else ()


def read_attributes(text: str) -> tuple[dict[str, object], str]:
    """Takes `{...}` and `<{...}>` dictionaries out of the text of an operation."""
    attributes: dict[str, object] = {}
    plain = text
    for match in re.finditer(r"<?\{([^{}]*)\}>?", text):
        plain = plain.replace(match[0], "", 1)
        for key, value in ATTRIBUTE.findall(match[1]):
            attributes[key] = _attribute_value(value)
    return attributes, plain


def _attribute_value(text: str) -> object:
    text = text.strip()
    number = re.match(r"^(-?\d+)(?: : \w+)?$", text)
    if number:
        return int(number[1])
    array = re.match(r"^array<i\d+(?:: (.*))?>$", text)
    if array:
        return tuple(int(piece) for piece in (array[1] or "").split(",") if piece.strip())
    return {"true": True, "false": False, "": True}.get(text, text)
