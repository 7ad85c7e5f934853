"""Floating point as uninterpreted terms: which operation of which operands, and that zero taps add nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import z3

from properties.proofs.world import VALUE, ZERO

if TYPE_CHECKING:
    from properties.proofs.evaluate import Evaluation
    from properties.ttir.program import Operation

ZEROS = ("0.000000e+00", "-0.000000e+00")
IS_FINITE = z3.Function("is finite", VALUE, z3.BoolSort())


def constant(text: str) -> z3.ExprRef:
    """A constant by its text; both zeros are one, since the contract fixes no zero's sign."""
    inner = text.removeprefix("dense<").removesuffix(">")
    return ZERO if inner in ZEROS else z3.Const(f"number {inner}", VALUE)


def widened(value: z3.ExprRef, narrow: str) -> z3.ExprRef:
    """A loaded value as fp32, exactly."""
    return value if narrow == "f32" else _widen(narrow, "f32")(value)


def rounded(value: z3.ExprRef, narrow: str) -> z3.ExprRef:
    """An fp32 value in a narrower type, rounded to nearest."""
    return value if narrow == "f32" else z3.Function(f"round f32 {narrow}", VALUE, VALUE)(value)


def _widen(narrow: str, wide: str) -> z3.FuncDeclRef:
    return z3.Function(f"widen {narrow} {wide}", VALUE, VALUE)


def add(one: Evaluation, a: z3.ExprRef, b: z3.ExprRef, type_: str) -> z3.ExprRef:
    """A sum; zero is neutral, the order of two operands does not matter."""
    function = z3.Function(f"add {type_}", VALUE, VALUE, VALUE)
    one.floats.append(function(a, b) == function(b, a))
    return z3.If(a == ZERO, b, z3.If(b == ZERO, a, function(a, b)))


def multiply(one: Evaluation, a: z3.ExprRef, b: z3.ExprRef, type_: str) -> z3.ExprRef:
    """A product; that of zero and a finite number is zero."""
    function = z3.Function(f"mul {type_}", VALUE, VALUE, VALUE)
    one.floats.append(function(a, b) == function(b, a))
    is_zero = z3.Or(z3.And(a == ZERO, IS_FINITE(b)), z3.And(b == ZERO, IS_FINITE(a)))
    return z3.If(is_zero, ZERO, function(a, b))


def float_operation(one: Evaluation, operation: Operation, inputs: list[Any], types: list[str]) -> z3.ExprRef:
    """The term of a float operation; what is not known of it is that it is a function of its operands."""
    name = operation.name.split(".")[1]
    if name == "addf":
        return add(one, inputs[0], inputs[1], types[0])
    if name == "mulf":
        one.products.append((operation, inputs[0], inputs[1]))
        return multiply(one, inputs[0], inputs[1], types[0])
    if name == "extf" or (name == "fp_to_fp" and "rounding" not in operation.attributes):
        function = _widen(types[0], types[-1])
        one.floats += [function(ZERO) == ZERO, IS_FINITE(ZERO), IS_FINITE(function(inputs[0])) == IS_FINITE(inputs[0])]
        return function(inputs[0])
    if name == "truncf" or (name == "fp_to_fp" and operation.attributes["rounding"] == "rtne"):
        return z3.Function(f"round {types[0]} {types[-1]}", VALUE, VALUE)(inputs[0])
    if name == "subf" and _flat(inputs[0]).eq(ZERO):  # how Triton before 3.9 writes -x
        name, inputs, types = "negf", inputs[1:], types[1:]
    rest = [f"{key}={word}" for key, word in operation.attributes.items()]
    return _term(name, [*operation.words, *rest], inputs, types)


def silu(one: Evaluation, total: z3.ExprRef) -> z3.ExprRef:
    """`total * (1 / (1 + exp(-total)))`, as tl.sigmoid is written out; that of zero is finite."""
    one.floats.append(IS_FINITE(_sigmoid(one, ZERO)))
    return multiply(one, total, _sigmoid(one, total), "f32")


def _sigmoid(one: Evaluation, total: z3.ExprRef) -> z3.ExprRef:
    pair = ["f32", "f32"]
    unit = constant("1.000000e+00")
    power = _term("exp", [], [_term("negf", [], [total], pair)], pair)
    return _term("divf", [], [unit, add(one, power, unit, "f32")], ["f32", *pair])


def _flat(value: Any) -> Any:
    return value.flat if hasattr(value, "flat") else value


def _term(name: str, words: list[str], inputs: list[Any], types: list[str]) -> z3.ExprRef:
    """An uninterpreted function of its inputs, known by its name and types."""
    inputs = [_flat(one_input) for one_input in inputs]
    sorts = [one_input.sort() for one_input in inputs]
    result = z3.BoolSort() if name == "cmpf" else VALUE
    return z3.Function(" ".join([name, *words, *types]), *sorts, result)(*inputs)
