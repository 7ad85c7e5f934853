"""Operations with regions: scf.for, scf.if, scf.while, tt.reduce, tt.scan, tt.map_elementwise."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .program import Location, Operation
from .type_text import parse_type, parse_types, split_top

if TYPE_CHECKING:
    from .parse import _Reader


def structured(reader: _Reader, name: str, text: str, results: str, scope: dict[str, int]) -> Operation:
    """Reads an operation whose text opens a region, up to the line that closes its last region."""
    if name == "scf.for":
        return _for(reader, text, results, scope)
    if name == "scf.if":
        return _if(reader, text, results, scope)
    if name == "scf.while":
        return _while(reader, text, results, scope)
    return _generic(reader, name, text, results, scope)


def _finish(reader: _Reader, operation: Operation, closing: str, results: str, types, scope) -> Operation:
    from .parse import read_attributes

    attributes, _ = read_attributes(closing[1:].split(" loc(")[0])
    operation.attributes.update(attributes)
    operation.location = reader.location(closing)
    operation.results = reader.bind_results(results, types, scope)
    return operation


def _for(reader: _Reader, text: str, results: str, scope: dict[str, int]) -> Operation:
    match = re.match(
        r"scf\.for (unsigned )?(%\S+) = (%\S+) to (%\S+) step (%\S+)"
        r"(?: iter_args\((.*?)\) -> \((.*)\)\s*)?\s*(?: ?: (\w+))? \{$",
        text,
    )
    if match is None:
        raise ValueError(f"TTIR: not a loop header: {text}")
    unsigned, variable, low, high, step, pairs, types_text, counter = match.groups()
    types = parse_types(f"({types_text})") if types_text else []
    inner = dict(scope)
    slot = reader.function.slot(parse_type(counter) if counter else reader.function.types[scope[low]])
    inner[variable] = slot
    arguments, initial = [slot], []
    for pair, type_ in zip(pairs.split(", ") if pairs else [], types, strict=True):
        name, value = pair.split(" = ")
        initial.append(scope[value])
        inner[name] = reader.function.slot(type_)
        arguments.append(inner[name])
    region, closing = reader.region(inner, tuple(arguments))
    operands = (scope[low], scope[high], scope[step], *initial)
    operation = Operation("scf.for", operands, (), {}, ("unsigned",) if unsigned else (), Location(), (region,))
    return _finish(reader, operation, closing, results, types, scope)


def _if(reader: _Reader, text: str, results: str, scope: dict[str, int]) -> Operation:
    match = re.match(r"scf\.if (%\S+)(?: -> \((.*)\))? \{$", text)
    if match is None:
        raise ValueError(f"TTIR: not a branch header: {text}")
    regions = []
    region, closing = reader.region(scope, ())
    regions.append(region)
    if closing.startswith("} else"):
        region, closing = reader.region(scope, ())
        regions.append(region)
    operation = Operation("scf.if", (scope[match[1]],), (), {}, (), Location(), tuple(regions))
    types = parse_types(f"({match[2]})") if match[2] else []
    return _finish(reader, operation, closing, results, types, scope)


def _while(reader: _Reader, text: str, results: str, scope: dict[str, int]) -> Operation:
    match = re.match(r"scf\.while (?:\((.*?)\) )?: (.*) \{$", text)
    if match is None:
        raise ValueError(f"TTIR: not a loop header: {text}")
    before_types, after_types = (parse_types(piece) for piece in split_top(match[2], "->"))
    inner = dict(scope)
    arguments, initial = [], []
    for pair, type_ in zip(match[1].split(", ") if match[1] else [], before_types, strict=True):
        name, value = pair.split(" = ")
        initial.append(scope[value])
        inner[name] = reader.function.slot(type_)
        arguments.append(inner[name])
    before, closing = reader.region(inner, tuple(arguments))
    after, closing = reader.region(scope, ())
    operation = Operation("scf.while", tuple(initial), (), {}, (), Location(), (before, after))
    return _finish(reader, operation, closing, results, after_types, scope)


def _generic(reader: _Reader, name: str, text: str, results: str, scope: dict[str, int]) -> Operation:
    from .parse import VALUE, read_attributes

    attributes, plain = read_attributes(text)
    operands = tuple(scope[value] for value in VALUE.findall(plain))
    region, closing = reader.region(scope, ())
    signature = closing[2:].rsplit(" loc(", 1)[0].strip()[1:]
    types = parse_types(split_top(signature, "->")[-1])
    operation = Operation(name, operands, (), attributes, (), Location(), (region,))
    return _finish(reader, operation, "}" + closing[closing.rfind(" loc(") :], results, types, scope)
