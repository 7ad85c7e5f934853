"""Integer arithmetic: values wrap as in hardware, ranges and taint say where an index did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .binding import Binding, full_range, stored_dtype
from .cells import join
from .elements import UNSIGNED
from .program import Operation
from .ranges import RANGES, known
from .registry import Step, operation
from .run import LOW_BITS_LOST, UNDEFINED, Frame

Binary = Callable[[Any, Any], Any]


def first_operands(bad: Any, x: Any, y: Any) -> tuple[tuple[str, int], ...]:
    """Returns the two operands of the first lane that went wrong."""
    wide_x, wide_y, wide = np.broadcast_arrays(x, y, bad)
    where = int(np.flatnonzero(wide)[0])
    return ("left", int(wide_x.ravel()[where])), ("right", int(wide_y.ravel()[where]))


def _wrapped_add(x: Any, y: Any, out: Any) -> Any:
    return ((x ^ out) & (y ^ out)) < 0


def _wrapped_sub(x: Any, y: Any, out: Any) -> Any:
    return ((x ^ y) & (x ^ out)) < 0


def _wrapped_mul(x: Any, y: Any, out: Any) -> Any:
    if out.dtype.itemsize < 8:
        return np.multiply(x, y, dtype=np.int64) != out
    lowest = np.iinfo(out.dtype).min
    safe = np.where(x == 0, 1, x)
    return (x != 0) & ((out // safe != y) | ((x == -1) & (y == lowest)))


def _unsigned_wrapped(name: str) -> Callable[[Any, Any, Any], Any]:
    """Returns the same question for numbers that are read as unsigned."""

    def wrapped(x: Any, y: Any, out: Any) -> Any:
        unsigned = f"u{out.dtype.itemsize}"
        x, y, out = x.view(unsigned), y.view(unsigned), out.view(unsigned)
        if name == "arith.addi":
            return out < x
        if name == "arith.subi":
            return y > x
        return (x != 0) & (out // np.where(x == 0, x.dtype.type(1), x) != y)

    return wrapped


def forgiven(mark: Any) -> Any:
    """Drops marks of wrapping: hashes, which wrap on purpose, are written with operations that mix bits."""
    if mark is None:
        return None
    kept = np.where(mark < UNDEFINED, np.int16(0), mark)
    return kept if kept.any() else None


def low_bits_lost(mark: Any) -> Any:
    """Marks wrapped values as wrong in their low bits too, so that no low mask forgives them."""
    if mark is None:
        return None
    return np.where((mark > 0) & (mark < UNDEFINED), mark | np.int16(LOW_BITS_LOST), mark)


WRAPPING: dict[str, tuple[Binary, Callable[[Any, Any, Any], Any]]] = {
    "arith.addi": (np.add, _wrapped_add),
    "arith.subi": (np.subtract, _wrapped_sub),
    "arith.muli": (np.multiply, _wrapped_mul),
}


@operation(*WRAPPING, note="wraps as in hardware; a wrapped index that reaches an active address is a hazard")
def bind_wrapping(op: Operation, binding: Binding) -> Step:
    a, b = op.operands
    r = op.results[0]
    compute, wrapped = WRAPPING[op.name]
    if binding.type(r).element == "i1":
        return _plain(a, b, r, {"arith.muli": np.logical_and}.get(op.name, np.logical_xor), binding.has_checks)
    if not binding.has_checks:
        return _plain(a, b, r, compute, False)
    lowest, highest = full_range(binding.type(r))
    bound = RANGES[op.name]
    is_unsigned = r in binding.unsigned
    if is_unsigned:
        wrapped = _unsigned_wrapped(op.name)

    def step(frame: Frame) -> None:
        data, taint, ranges = frame.data, frame.taint, frame.ranges
        x, y = data[a], data[b]
        out = compute(x, y)
        mark, other = taint[a], taint[b]
        if other is not None:
            mark = join(mark, other)
        one, two = ranges[a] or known(frame, a), ranges[b] or known(frame, b)
        low, high = bound(one, two)
        # numbers that are read as unsigned are judged here only while none of them has its top bit set
        if low < lowest or high > highest or (is_unsigned and (low < 0 or one[0] < 0 or two[0] < 0)):
            bad = wrapped(x, y, out)
            if bad.any():
                code = frame.run.code("wrapped index", op, False, first_operands(bad, x, y))
                mark = join(mark, np.where(bad, np.int16(code), np.int16(0)))
            low, high = int(out.min()), int(out.max())
        data[r], taint[r], ranges[r] = out, mark, (low, high)

    return step


def _plain(a: int, b: int, r: int, compute: Binary, has_checks: bool) -> Step:
    """Binds an operation that only merges taint; integers get no range but their type's."""
    if not has_checks:

        def bare(frame: Frame) -> None:
            data = frame.data
            data[r] = compute(data[a], data[b])

        return bare

    def step(frame: Frame) -> None:
        data, taint = frame.data, frame.taint
        data[r] = compute(data[a], data[b])
        mark, other = taint[a], taint[b]
        taint[r] = mark if other is None else join(mark, other)
        frame.ranges[r] = (0, 1)

    return step


def _view(compute: Binary, unsigned: np.dtype, signed: np.dtype) -> Binary:
    def through(x: Any, y: Any) -> Any:
        return compute(x.view(unsigned), y.view(unsigned)).view(signed)

    return through


def _shift_left(x: Any, y: Any) -> Any:
    return np.left_shift(x, y)


BITWISE: dict[str, Binary] = {
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
}
UNSIGNED_BINARY: dict[str, Binary] = {"arith.maxui": np.maximum, "arith.minui": np.minimum}


@operation(*BITWISE, *UNSIGNED_BINARY)
def bind_bitwise(op: Operation, binding: Binding) -> Step:
    a, b = op.operands
    r = op.results[0]
    type_ = binding.type(r)
    if op.name in UNSIGNED_BINARY:
        compute = _view(UNSIGNED_BINARY[op.name], UNSIGNED[type_.element], stored_dtype(type_))
    else:
        compute = BITWISE[op.name]
    if op.name == "arith.ori" and binding.has_checks and type_.element == "i1":
        return _either(a, b, r)
    if not binding.has_checks or type_.element == "i1":
        return _plain(a, b, r, compute, binding.has_checks)
    forgives = op.name == "arith.xori"
    bound = RANGES.get(op.name, lambda one, other: full_range(type_))

    def step(frame: Frame) -> None:
        data, taint, ranges = frame.data, frame.taint, frame.ranges
        data[r] = compute(data[a], data[b])
        mark, other = taint[a], taint[b]
        mark = mark if other is None else join(mark, other)
        taint[r] = forgiven(mark) if forgives else mark
        ranges[r] = bound(ranges[a] or known(frame, a), ranges[b] or known(frame, b))

    return step


@operation("arith.andi", note="a lane that a clean operand forces to 0 is clean; a clean low mask forgives wrapping")
def bind_and(op: Operation, binding: Binding) -> Step:
    a, b = op.operands
    r = op.results[0]
    if not binding.has_checks:
        return _plain(a, b, r, np.bitwise_and, False)
    bound = RANGES["arith.andi"]
    is_mask = binding.type(r).element == "i1"

    def step(frame: Frame) -> None:
        data, taint, ranges = frame.data, frame.taint, frame.ranges
        x, y = data[a], data[b]
        data[r] = np.bitwise_and(x, y)
        mark, other = taint[a], taint[b]
        if mark is not None or other is not None:
            mark = join(_masked(mark, other, y, is_mask), _masked(other, mark, x, is_mask))
        taint[r] = mark
        ranges[r] = (0, 1) if is_mask else bound(ranges[a] or known(frame, a), ranges[b] or known(frame, b))

    return step


def _either(a: int, b: int, r: int) -> Step:
    """`or` of conditions: a clean true decides the result, as a clean false does for `and`."""

    def step(frame: Frame) -> None:
        x, y = frame.data[a], frame.data[b]
        frame.data[r] = np.bitwise_or(x, y)
        mark, other = frame.taint[a], frame.taint[b]
        if mark is not None or other is not None:
            mark = join(_masked(mark, other, ~y, True), _masked(other, mark, ~x, True))
        frame.taint[r] = mark
        frame.ranges[r] = (0, 1)

    return step


def _masked(mark: Any, other_mark: Any, other: Any, is_mask: bool) -> Any:
    """Drops the taint of one operand where the other one, clean, decides the result."""
    if mark is None:
        return None
    decided = other == 0
    if other_mark is not None:
        decided = decided & (other_mark == 0)
    kept = np.where(decided, np.int16(0), mark)
    if not is_mask and other_mark is None:
        low_mask = (other >= 0) & ((other & (other + 1)) == 0)
        kept = np.where(low_mask & (kept < LOW_BITS_LOST), np.int16(0), kept)
    return kept if kept.any() else None


COMPARE: dict[str, Binary] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
    "ult": np.less,
    "ule": np.less_equal,
    "ugt": np.greater,
    "uge": np.greater_equal,
}


@operation("arith.cmpi")
def bind_compare(op: Operation, binding: Binding) -> Step:
    a, b = op.operands
    predicate = op.words[0]
    compute = COMPARE[predicate]
    element = binding.type(a).element
    if predicate[0] == "u" and element != "i1":
        unsigned, inner = UNSIGNED[element], compute

        def compute(x: Any, y: Any) -> Any:
            return inner(x.view(unsigned), y.view(unsigned))

    elif predicate[0] == "s" and element == "i1":
        # as a signed number, true is -1

        def compute(x: Any, y: Any) -> Any:
            return COMPARE[predicate](y, x)

    return _plain(a, b, op.results[0], compute, binding.has_checks)
