"""Integer division, remainder and shifts as C does them, and what makes them undefined."""

from __future__ import annotations

from typing import Any

import numpy as np

from .binding import Binding, full_range, stored_dtype
from .cells import join
from .elements import BITS, UNSIGNED
from .integers import first_operands, forgiven, low_bits_lost
from .program import Operation
from .ranges import divide, known, remainder
from .registry import Step, operation
from .run import Frame

# from here on three vectorised passes beat one that is not
VECTOR_LANES = 2048


def quotient(x: Any, y: Any, is_positive: bool) -> Any:
    """Divides rounding toward zero; a zero divisor gives 0."""
    if is_positive:
        return np.floor_divide(x, y)
    result = np.floor_divide(x, y)
    exact = result * y == x
    return result + (~exact & ((x < 0) != (y < 0)) & (y != 0)).astype(x.dtype)


def rest(x: Any, y: Any, is_positive: bool) -> Any:
    """Returns the remainder with the sign of the dividend."""
    if is_positive and x.size >= VECTOR_LANES:
        return x - np.floor_divide(x, y) * y
    return np.fmod(x, y)


@operation(
    "arith.divsi",
    "arith.remsi",
    "arith.divui",
    "arith.remui",
    "arith.ceildivsi",
    "arith.floordivsi",
    "arith.ceildivui",
    note="a zero divisor, or the lowest number by -1, makes the lane undefined",
)
def bind_division(op: Operation, binding: Binding) -> Step:
    a, b = op.operands
    r = op.results[0]
    type_ = binding.type(r)
    if type_.element == "i1":
        raise binding.unsupported(op, "i1")
    is_unsigned = op.name.endswith("ui")
    unsigned, signed = UNSIGNED[type_.element], stored_dtype(type_)
    lowest, highest = full_range(type_)
    has_checks = binding.has_checks

    def general(x: Any, y: Any, is_positive: bool) -> Any:
        if is_unsigned:
            x, y = x.view(unsigned), y.view(unsigned)
            is_positive = True
        if op.name[6:9] == "rem":
            result = rest(x, y, is_positive)
        elif op.name == "arith.floordivsi":
            result = np.floor_divide(x, y)
        elif op.name.startswith("arith.ceildiv"):
            result = np.floor_divide(x, y)
            result = result + (result * y != x).astype(x.dtype)
        else:
            result = quotient(x, y, is_positive)
        return result.view(signed)

    compute = {"arith.divsi": quotient, "arith.remsi": rest}.get(op.name, general)

    def bare(frame: Frame) -> None:
        x, y = frame.data[a], frame.data[b]
        frame.data[r] = compute(x, y, bool(x.min() >= 0 and y.min() > 0))

    def step(frame: Frame) -> None:
        data, taint, ranges = frame.data, frame.taint, frame.ranges
        x, y = data[a], data[b]
        one, other = ranges[a] or known(frame, a), ranges[b] or known(frame, b)
        mark = taint[a]
        if taint[b] is not None:
            mark = join(mark, taint[b])
        if other[0] <= 0 <= other[1]:
            zero = y == 0
            if zero.any():
                code = frame.run.code("division by zero", op, True, first_operands(zero, x, y))
                mark = join(mark, np.where(zero, np.int16(code), np.int16(0)))
                y = np.where(zero, y.dtype.type(1), y)
        if not is_unsigned and one[0] == lowest and other[0] <= -1 <= other[1]:
            worst = (x == lowest) & (y == -1)
            if worst.any():
                code = frame.run.code("signed minimum divided by -1", op, True, first_operands(worst, x, y))
                mark = join(mark, np.where(worst, np.int16(code), np.int16(0)))
        is_positive = one[0] >= 0 and other[0] >= 0
        data[r] = compute(x, y, is_positive)
        taint[r] = forgiven(mark) if op.name == "arith.remui" else low_bits_lost(mark)
        if is_unsigned and not is_positive:
            ranges[r] = (lowest, highest)
        elif op.name[6:9] == "rem":
            ranges[r] = remainder(one, other)
        else:
            low, high = divide(one, (max(other[0], 1), max(other[1], 1)) if is_positive else other)
            is_rounded = op.name in ("arith.ceildivsi", "arith.ceildivui", "arith.floordivsi")
            ranges[r] = (max(low - is_rounded, lowest), min(high + is_rounded, highest))

    return step if has_checks else bare


@operation("arith.shli", "arith.shrsi", "arith.shrui", note="an amount outside the width makes the lane undefined")
def bind_shift(op: Operation, binding: Binding) -> Step:
    a, b = op.operands
    r = op.results[0]
    type_ = binding.type(r)
    width = BITS[type_.element]
    reads_unsigned = r in binding.unsigned
    unsigned, signed = UNSIGNED[type_.element], stored_dtype(type_)
    lowest, highest = full_range(type_)

    def compute(x: Any, y: Any) -> Any:
        if op.name == "arith.shrui":
            return np.right_shift(x.view(unsigned), y.view(unsigned)).view(signed)
        return np.left_shift(x, y) if op.name == "arith.shli" else np.right_shift(x, y)

    def bare(frame: Frame) -> None:
        frame.data[r] = compute(frame.data[a], frame.data[b])

    def step(frame: Frame) -> None:
        data, taint, ranges = frame.data, frame.taint, frame.ranges
        x, y = data[a], data[b]
        one, other = ranges[a] or known(frame, a), ranges[b] or known(frame, b)
        out, mark = compute(x, y), join(taint[a], taint[b])
        if other[0] < 0 or other[1] >= width:
            bad = y.view(unsigned) >= unsigned.type(width)
            if bad.any():
                code = frame.run.code("shift past the width", op, True, first_operands(bad, x, y))
                mark = join(mark, np.where(bad, np.int16(code), np.int16(0)))
            low, high = lowest, highest
        elif op.name == "arith.shli":
            low, high = (
                min(one[0] << other[0], one[0] << other[1]),
                max(one[1] << other[0], one[1] << other[1]),
            )
            if low < lowest or high > highest or (reads_unsigned and one[0] < 0):
                back = np.right_shift(out.view(unsigned), y.view(unsigned)).view(signed)
                bad = (back if reads_unsigned else np.right_shift(out, y)) != x
                if bad.any():
                    code = frame.run.code("wrapped index", op, False, first_operands(bad, x, y))
                    mark = join(mark, np.where(bad, np.int16(code), np.int16(0)))
                low, high = int(out.min()), int(out.max())
        elif one[0] >= 0 or op.name == "arith.shrsi":
            low, high = (
                min(one[0] >> other[0], one[0] >> other[1]),
                max(one[1] >> other[0], one[1] >> other[1]),
            )
        else:
            low, high = lowest, highest
        if op.name != "arith.shli":
            mark = forgiven(mark) if op.name == "arith.shrui" else low_bits_lost(mark)
        data[r], taint[r], ranges[r] = out, mark, (low, high)

    return step if binding.has_checks else bare
