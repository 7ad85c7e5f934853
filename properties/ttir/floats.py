"""Float arithmetic: IEEE in the element type, one rounding for each operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .binding import Binding
from .cells import join
from .elements import WIDE_FLOATS, decode, encode
from .program import Operation
from .registry import Step, operation
from .run import Frame


def _maximum_number(x: Any, y: Any) -> Any:
    """Returns the larger; a NaN loses, and +0 is larger than -0."""
    return np.where((x == 0) & (y == 0), x + y, np.fmax(x, y))


def _minimum_number(x: Any, y: Any) -> Any:
    return np.where((x == 0) & (y == 0), -((-x) + (-y)), np.fmin(x, y))


def _maximum(x: Any, y: Any) -> Any:
    return np.where((x == 0) & (y == 0), x + y, np.maximum(x, y))


def _minimum(x: Any, y: Any) -> Any:
    return np.where((x == 0) & (y == 0), -((-x) + (-y)), np.minimum(x, y))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "tt.precise_divf": np.divide,
    "arith.remf": np.fmod,
    "arith.maxnumf": _maximum_number,
    "arith.minnumf": _minimum_number,
    "arith.maximumf": _maximum,
    "arith.minimumf": _minimum,
    "math.copysign": np.copysign,
    "math.powf": np.power,
    "math.atan2": np.arctan2,
}


@operation(*BINARY)
def bind_binary(op: Operation, binding: Binding) -> Step:
    a, b = op.operands
    r = op.results[0]
    element = binding.type(r).element
    compute = BINARY[op.name]
    if element not in WIDE_FLOATS:
        wide = compute

        def compute(x: Any, y: Any) -> Any:
            return encode(wide(decode(x, element), decode(y, element)), element)

    if not binding.has_checks:

        def bare(frame: Frame) -> None:
            data = frame.data
            data[r] = compute(data[a], data[b])

        return bare

    def step(frame: Frame) -> None:
        data, taint = frame.data, frame.taint
        data[r] = compute(data[a], data[b])
        mark, other = taint[a], taint[b]
        taint[r] = mark if other is None else join(mark, other)

    return step


def _reciprocal_root(x: Any) -> Any:
    """Returns 1 / sqrt(x), rounded once from float64."""
    return (1.0 / np.sqrt(x.astype(np.float64))).astype(x.dtype)


def _through_float64(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Computes a float32 function in float64 and rounds once: correct to within its last bit."""

    def wide(x: Any) -> Any:
        return compute(x.astype(np.float64)).astype(x.dtype)

    return wide


def _error_function(x: Any) -> Any:
    import torch

    return torch.special.erf(torch.from_numpy(np.ascontiguousarray(x, np.float64))).numpy().astype(x.dtype)


UNARY: dict[str, Callable[[Any], Any]] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.sqrt": np.sqrt,
    "tt.precise_sqrt": np.sqrt,
    "math.rsqrt": _reciprocal_root,
    "math.exp": _through_float64(np.exp),
    "math.exp2": _through_float64(np.exp2),
    "math.expm1": _through_float64(np.expm1),
    "math.log": _through_float64(np.log),
    "math.log2": _through_float64(np.log2),
    "math.log10": _through_float64(np.log10),
    "math.log1p": _through_float64(np.log1p),
    "math.sin": _through_float64(np.sin),
    "math.cos": _through_float64(np.cos),
    "math.tan": _through_float64(np.tan),
    "math.tanh": _through_float64(np.tanh),
    "math.erf": _error_function,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.trunc": np.trunc,
    "math.round": np.rint,
    "math.roundeven": np.rint,
}


@operation(*UNARY)
def bind_unary(op: Operation, binding: Binding) -> Step:
    a, r = op.operands[0], op.results[0]
    element = binding.type(r).element
    compute = UNARY[op.name]

    def step(frame: Frame) -> None:
        x = frame.data[a]
        frame.data[r] = compute(x) if element in WIDE_FLOATS else encode(compute(decode(x, element)), element)
        frame.taint[r] = frame.taint[a]

    return step


def _unordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def either(x: Any, y: Any) -> Any:
        return compare(x, y) | (x != x) | (y != y)

    return either


def _ordered_unequal(x: Any, y: Any) -> Any:
    return (x < y) | (x > y)


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "oeq": np.equal,
    "ogt": np.greater,
    "oge": np.greater_equal,
    "olt": np.less,
    "ole": np.less_equal,
    "one": _ordered_unequal,
    "ord": lambda x, y: (x == x) & (y == y),
    "ueq": _unordered(np.equal),
    "ugt": _unordered(np.greater),
    "uge": _unordered(np.greater_equal),
    "ult": _unordered(np.less),
    "ule": _unordered(np.less_equal),
    "une": np.not_equal,
    "uno": lambda x, y: (x != x) | (y != y),
}


@operation("arith.cmpf")
def bind_compare(op: Operation, binding: Binding) -> Step:
    a, b = op.operands
    r = op.results[0]
    element = binding.type(a).element
    compare = COMPARE[op.words[0]]

    def step(frame: Frame) -> None:
        data, taint = frame.data, frame.taint
        data[r] = compare(decode(data[a], element), decode(data[b], element))
        taint[r] = join(taint[a], taint[b])
        frame.ranges[r] = (0, 1)

    return step
