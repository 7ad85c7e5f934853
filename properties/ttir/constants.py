"""The text of arith.constant to an array."""

from __future__ import annotations

import ast
import re

import numpy as np

from .elements import STORED, encode
from .program import Type


def constant(text: str, type_: Type) -> np.ndarray:
    """Returns a scalar or splat as one item, anything else in its full shape."""
    match = re.match(r"^dense<(.*)>$", text, re.DOTALL)
    inner = match[1] if match else text
    if inner.startswith("["):
        values = [_item(piece, type_) for piece in re.findall(r"[^\[\],\s]+", inner)]
        return np.array(values, STORED[type_.element]).reshape(type_.shape)
    if inner.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(inner[3:-1]), STORED[type_.element]).reshape(type_.shape)
    return np.array(_item(inner, type_), STORED[type_.element])


def _item(text: str, type_: Type) -> object:
    dtype = STORED[type_.element]
    if text in ("true", "false"):
        return text == "true" if type_.element == "i1" else -int(text == "true")
    if text.startswith("0x"):
        bits = int(text, 16)
        return np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]
    if type_.is_integer:
        return int(text)
    number = ast.literal_eval(text)
    if dtype.kind == "f":
        return dtype.type(number)
    return encode(np.array([number], np.float64), type_.element)[0]
