"""Literals: tensors as short Python that makes them again, to the bit."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import torch

from properties.contents import BITS, bits

WIDTH = 112
MOST = 2048  # numbers that are written down one by one
FEW = 4  # whole numbers that are listed one by one
LONG = 12  # numbers from which a rule is looked for
DIGITS = {
    torch.bfloat16: 4,
    torch.float16: 5,
    torch.float32: 9,
    torch.float64: 12,
}  # that tell a number from its neighbours
SHORT = {
    torch.bfloat16: "bf16",
    torch.float16: "fp16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
}


class TooLarge(Exception):
    """No rule describes a tensor that is too large to be written down."""


def literal(values: torch.Tensor, device: str = "") -> str:
    """A tensor, as Python. Raises TooLarge."""
    inner, dtype = spelled(values)
    if not dtype:
        return f"{inner}.to({device})" if device else inner
    return f"torch.tensor({inner}, dtype={dtype}{f', device={device}' if device else ''})"


def spelled(values: torch.Tensor) -> tuple[str, str]:
    """A tensor as nested lists and the name of their dtype, or as an expression and "". Raises TooLarge."""
    values = values.contiguous()
    name = SHORT[values.dtype]
    if has_payload(values):
        return f"{literal(bits(values))}.view({name})", ""
    plain = _plain(values) if values.numel() <= MOST else ""
    rule = _by_rule(values) if values.numel() > LONG else ""
    if rule and (not plain or len(rule) < len(plain)):
        return rule, ""
    if not plain:
        raise TooLarge(f"{values.numel():,} numbers that follow no rule")
    return (plain, name) if math.prod(values.shape) else (f"torch.empty({tuple(values.shape)}, dtype={name})", "")


def has_payload(values: torch.Tensor) -> bool:
    """Whether a NaN is not the one that `nan` makes."""
    if values.dtype not in BITS:
        return False
    usual = bits(torch.tensor([float("nan")], dtype=values.dtype))
    return bool((values.isnan() & (bits(values) != usual)).any())


def numbers(flat: torch.Tensor) -> list[str]:
    """Every number in as few digits as give the same bits again."""
    if not flat.is_floating_point():
        return [str(one) for one in flat.tolist()]
    exact = flat.tolist()
    found: list[str] = [""] * len(exact)
    left = list(range(len(exact)))
    for digits in range(1, 18):
        tried = [f"{exact[i]:.{digits}g}" for i in left]
        same = bits(torch.tensor([float(one) for one in tried], dtype=flat.dtype)) == bits(flat[left])
        if flat.dtype == torch.float64:
            same = torch.tensor([float(one) for one in tried], dtype=flat.dtype) == flat[left]
        for i, one, is_same in zip(left, tried, same.tolist(), strict=True):
            if is_same or not math.isfinite(exact[i]):
                found[i] = _as_float(one)
        left = [i for i in left if not found[i]]
        if not left:
            break
    return found


def _as_float(word: str) -> str:
    if word.lstrip("-") in ("nan", "inf"):
        return f'float("{word}")'
    if "e+" in word and abs(float(word)) < 1e6:
        word = f"{float(word):.0f}"
    return word if {".", "e"} & set(word) else f"{word}."


def _plain(values: torch.Tensor) -> str:
    return _nested(numbers(values.flatten()), tuple(values.shape))


def _nested(words: Sequence[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return words[0]
    step = len(words) // shape[0] if shape[0] else 0
    return f"[{', '.join(_nested(words[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))}]"


def _by_rule(values: torch.Tensor) -> str:
    """A tensor that is one number, or steps evenly, but for a few exceptions; else ""."""
    flat, shape = values.flatten(), tuple(values.shape)
    whole = bits(flat)
    usual = int((whole == whole.mode().values).nonzero()[0])
    others = (whole != whole[usual]).nonzero().flatten()
    if len(others) <= max(len(flat) // 4, 1) and len(others) <= MOST:
        size = f"{shape}"
        made = f"torch.full({size}, {numbers(flat[usual : usual + 1])[0]}, dtype={SHORT[flat.dtype]})"
        if not len(others):
            return made
        index = indexed([unravel(int(i), shape) for i in others], shape)
        index += "," if len(shape) == 1 else ""
        return f"put({made}, ({index}), {_nested(numbers(flat[others]), (len(others),))})"
    if not flat.is_floating_point() and (steps := _steps(flat)):
        return steps if len(shape) == 1 else f"{steps}.view({', '.join(map(str, shape))})"
    return ""


def indexed(places: Sequence[tuple[int, ...]], shape: Sequence[int]) -> str:
    """These elements, in this order, as what stands between the brackets of an index (with `slice` for colons)."""
    axes = [sorted(set(axis)) for axis in zip(*places, strict=True)]
    is_box = math.prod(map(len, axes)) == len(places) and list(places) == sorted(places)
    if not is_box or not all(axis[-1] - axis[0] + 1 == len(axis) for axis in axes):
        return ", ".join(map(listed, zip(*places, strict=True)))
    words = [_span(axis[0], axis[-1] + 1, size) for axis, size in zip(axes, shape, strict=True)]
    return ", ".join(words)


def listed(axis: Sequence[int]) -> str:
    """Whole numbers as a list, shorter where all are equal or follow one another."""
    if len(axis) > FEW and len(set(axis)) == 1:
        return f"[{axis[0]}] * {len(axis)}"
    if len(axis) > FEW and list(axis) == list(range(axis[0], axis[0] + len(axis))):
        return f"[*range({axis[0]}, {axis[0] + len(axis)})]"
    return str(list(axis))


def _span(begin: int, end: int, size: int) -> str:
    if end == begin + 1:
        return str(begin)
    return "slice(None)" if (begin, end) == (0, size) else f"slice({begin}, {end})"


def subscript(places: Sequence[tuple[int, ...]], shape: Sequence[int]) -> str:
    """The same for brackets, where slices are written with colons, and what follows the last need not be said."""
    words = indexed(places, shape)
    if "[" in words:
        return words
    parts = words.replace("slice(None)", ":")
    cuts = []
    for part in parts.replace("slice(", "<").split("<"):
        cuts.append(part)
    text = cuts[0] + "".join(part.replace(", ", ":", 1).replace(")", "", 1) for part in cuts[1:])
    axes = text.split(", ")
    while len(axes) > 1 and axes[-1] == ":":
        axes.pop()
    return ", ".join(axes)


def _steps(flat: torch.Tensor) -> str:
    """A tensor of whole numbers in a few even runs; "" where they are many."""
    wide, n = flat.to(torch.int64), len(flat)
    differences = wide.diff()
    runs: list[str] = []
    at = 0
    while at < n:
        if len(runs) > 20:
            return ""
        step = int(differences[at]) if at < n - 1 else 0
        other = (differences[at:] != step).nonzero()
        end = at + 1 + (int(other[0]) if len(other) else n - 1 - at)
        runs.append(_run(int(wide[at]), step, end - at, SHORT[flat.dtype]))
        at = end
    return runs[0] if len(runs) == 1 else f"torch.cat([{', '.join(runs)}])"


def _run(first: int, step: int, count: int, dtype: str) -> str:
    if step == 0 or count == 1:
        return f"torch.full(({count},), {first}, dtype={dtype})"
    last = f", {step}" if step != 1 else ""
    return f"torch.arange({first}, {first + step * count}{last}, dtype={dtype})"


def unravel(offset: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The index of an element of a contiguous tensor."""
    index = []
    for size in reversed(shape):
        index.append(offset % size)
        offset //= size
    return tuple(reversed(index))


def wrapped(line: str, indent: str = "    ") -> str:
    """A line of Python, broken at its commas where it is too long."""
    if len(line) <= WIDTH:
        return line
    lines = textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def is_near(one: str, other: str) -> bool:
    """Whether two printed numbers are the same but for their digits."""
    try:
        return one == other or math.isclose(float(one), float(other), rel_tol=1e-2)
    except ValueError:
        return False
