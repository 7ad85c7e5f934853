"""Literals: tensors as the shortest Python that makes them again, to the bit."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import torch

from properties.contents import BITS, bits

WIDTH = 110
MOST = 4096  # numbers that are written down one by one
FEW = 40  # exceptions from a rule that are written down
LONG = 16  # numbers from which a rule is looked for


class TooLarge(Exception):
    """No rule describes a tensor that is too large to be written down."""


def literal(values: torch.Tensor) -> str:
    """A tensor on the host, as Python. Raises TooLarge."""
    flat = values.contiguous().flatten()
    shape = tuple(values.shape)
    if len(flat) > LONG and (found := _by_rule(flat, shape)):
        return found
    if len(flat) > MOST:
        raise TooLarge(f"{len(flat):,} numbers that follow no rule")
    return _spelled(flat, shape)


def name_of(dtype: torch.dtype) -> str:
    """torch.bfloat16 and the like."""
    return str(dtype)


def _spelled(flat: torch.Tensor, shape: tuple[int, ...]) -> str:
    """Every number, nested where there are few."""
    dtype = flat.dtype
    if _has_payload(flat):
        inner = literal(bits(flat).view(shape))
        return f"{inner}.view({name_of(dtype)})"
    if math.prod(shape) and len(flat) <= LONG:
        return f"torch.tensor({_nested(flat.view(shape))}, dtype={name_of(dtype)})"
    made = f"torch.tensor({_nested(flat)}, dtype={name_of(dtype)})"
    return made if len(shape) == 1 else f"{made}.view({', '.join(map(str, shape))})"


def _has_payload(flat: torch.Tensor) -> bool:
    """Whether a NaN is not the one that `nan` makes."""
    if flat.dtype not in BITS:
        return False
    usual = bits(torch.tensor([float("nan")], dtype=flat.dtype))
    return bool((flat.isnan() & (bits(flat) != usual)).any())


def _nested(values: torch.Tensor) -> str:
    if values.ndim == 0:
        return number(values)
    return f"[{', '.join(_nested(one) for one in values)}]"


def number(value: torch.Tensor) -> str:
    """One number, exactly."""
    if not value.is_floating_point():
        return str(int(value))
    plain = float(value)
    return repr(plain) if math.isfinite(plain) else f'float("{plain}")'


def _by_rule(flat: torch.Tensor, shape: tuple[int, ...]) -> str | None:
    """A tensor that is one number, or steps evenly, but for a few exceptions; else None."""
    whole = bits(flat)
    common = int(whole.mode().values)
    others = (whole != common).nonzero().flatten()
    if len(others) <= min(FEW, len(flat) // 2):
        return _filled(flat, shape, others)
    if whole is flat and (steps := _steps(flat)):
        return steps if len(shape) == 1 else f"{steps}.view({', '.join(map(str, shape))})"
    return None


def _filled(flat: torch.Tensor, shape: tuple[int, ...], others: torch.Tensor) -> str:
    dtype = flat.dtype
    usual = flat[int((bits(flat) == bits(flat).mode().values).nonzero()[0])]
    if usual.is_floating_point() and _has_payload(flat):
        return f"{literal(bits(flat).view(shape))}.view({name_of(dtype)})"
    size = shape[0] if len(shape) == 1 else shape
    made = f"torch.full({(size,) if isinstance(size, int) else size}, {number(usual)}, dtype={name_of(dtype)})"
    if not len(others):
        return made
    index = ", ".join(str(list(one)) for one in zip(*(unravel(int(i), shape) for i in others), strict=True))
    values = _nested(flat[others])
    return f"{made}.index_put_({_tensors(index)}, torch.tensor({values}, dtype={name_of(dtype)}))"


def _tensors(index: str) -> str:
    return f"tuple(map(torch.tensor, ({index},)))"


def _steps(flat: torch.Tensor) -> str | None:
    """A tensor of whole numbers in a few even runs."""
    differences = flat.to(torch.int64).diff()
    turns = [0, *((differences[1:] != differences[:-1]).nonzero().flatten() + 1).tolist()]
    if len(turns) > FEW:
        return None
    runs, at, n = [], 0, len(flat)
    while at < n:
        step = int(differences[at]) if at < n - 1 else 1
        end = at + 1
        while end < n and int(flat[end]) - int(flat[at]) == step * (end - at):
            end = _last_of_run(differences, end - 1, n)
        runs.append(_run(int(flat[at]), step, end - at, flat.dtype))
        at = end
    return runs[0] if len(runs) == 1 else f"torch.cat([{', '.join(runs)}])"


def _last_of_run(differences: torch.Tensor, at: int, n: int) -> int:
    """One past the last element of the run that steps as at `at`."""
    other = (differences[at:] != differences[at]).nonzero()
    return at + int(other[0]) + 1 if len(other) else n


def _run(first: int, step: int, count: int, dtype: torch.dtype) -> str:
    if step == 0 or count == 1:
        return f"torch.full(({count},), {first}, dtype={name_of(dtype)})"
    return f"torch.arange({first}, {first + step * count}, {step}, dtype={name_of(dtype)})"


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
