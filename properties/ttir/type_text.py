"""The types of TTIR text, and how an operation's signature tells the types of its results."""

from __future__ import annotations

import re

from .program import Type


def unescaped(text: str) -> str:
    """Reads a string of MLIR's, whose other characters are hexadecimal bytes: `\\22` for a quotation mark."""
    data = re.sub(rb"\\([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), text.encode())
    return data.replace(b"\\\\", b"\\").decode(errors="replace")


def parse_type(text: str) -> Type:
    """Reads one MLIR type, such as `tensor<8x8x!tt.ptr<bf16>>`."""
    text = text.strip()
    if text.startswith("tensor<"):
        *sizes, element = _split_shape(text[7:-1])
        inner = parse_type(element)
        return Type(inner.element, tuple(int(size) for size in sizes), inner.is_pointer)
    if text.startswith("!tt.ptr<"):
        return Type(text[8:-1].split(",")[0].strip(), is_pointer=True)
    if text.startswith("!tt.tensordesc<"):
        block = text[15:-1]
        if not block.startswith("tensor<"):
            block = f"tensor<{_without_layout(block)}>"
        inner = parse_type(block)
        return Type(inner.element, inner.shape, is_descriptor=True)
    return Type("i64" if text == "index" else text)


def _without_layout(text: str) -> str:
    return text.split(",")[0]


def _split_shape(text: str) -> list[str]:
    match = re.match(r"((?:\d+x)*)(.*)", text)
    assert match is not None  # the pattern matches any text
    return [size for size in match[1].split("x") if size] + [match[2]]


def split_top(text: str, separator: str) -> list[str]:
    """Splits at `separator` outside of brackets and strings."""
    pieces, depth, start, position, quoted = [], 0, 0, 0, False
    while position < len(text):
        character = text[position]
        if character == '"':
            quoted = not quoted
        elif not quoted:
            if text.startswith("->", position):
                if depth == 0 and separator == "->":
                    pieces.append(text[start:position])
                    start = position + 2
                position += 2
                continue
            if character in "<({[":
                depth += 1
            elif character in ">)}]":
                depth -= 1
            elif depth == 0 and text.startswith(separator, position):
                pieces.append(text[start:position])
                position += len(separator)
                start = position
                continue
        position += 1
    pieces.append(text[start:])
    return pieces


def parse_types(text: str) -> list[Type]:
    """Reads a list of types with or without parentheses."""
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    return [parse_type(piece) for piece in split_top(text, ", ") if piece.strip()]


def result_types(name: str, signature: str) -> list[Type]:
    """Works out the result types of an operation from its printed signature."""
    arrow = split_top(signature, "->")
    if len(arrow) > 1:
        return parse_types(arrow[-1])
    if " to " in signature:
        return [parse_type(signature.split(" to ")[-1])]
    if not signature.strip():
        return []
    if name == "tt.make_tensor_descriptor":
        return [parse_type(f"!tt.tensordesc{split_top(signature, ', ')[-1].strip()}")]
    types = parse_types(signature)
    first = types[0] if types else None
    if first is None:
        return []
    if name in ("arith.cmpi", "arith.cmpf"):
        return [Type("i1", first.shape)]
    if name == "tt.load":
        return [Type(first.element, first.shape)]
    if name == "arith.select":
        return [types[-1]]
    if name in ("arith.addui_extended", "arith.mulsi_extended", "arith.mului_extended"):
        return [first, first if name != "arith.addui_extended" else Type("i1", first.shape)]
    return [first]
