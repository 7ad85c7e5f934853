"""What TTIR's operations mean at one lane; everything else is named and not judged."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod
from typing import Any

import z3

from properties.proofs.evaluate import Evaluation, Lanes, NotJudged, Pointer, Site, meaning
from properties.proofs.floats import constant, float_operation
from properties.proofs.forms import Form, choose, product, quotient
from properties.ttir.constants import constant as integers
from properties.ttir.program import Operation

COMPARISONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
}


TRUTHS = {"arith.andi": z3.And, "arith.ori": z3.Or, "arith.xori": z3.Xor}
TOGETHER: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.maxsi": lambda a, b: choose(a.flat > b.flat, a, b),
    "arith.minsi": lambda a, b: choose(a.flat < b.flat, a, b),
    **TRUTHS,
}
MOST_LANES = 64  # of the axis of a reduction


def _two(one: Evaluation, operation: Operation, lanes: Lanes) -> tuple[Any, Any]:
    return one.at(operation.operands[0], lanes), one.at(operation.operands[1], lanes)


@meaning("arith.constant")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Any:
    type_ = one.types[operation.results[0]]
    text = str(operation.attributes["value"])
    if type_.is_float:
        return constant(text)
    values = integers(text, type_)
    if values.size != 1:
        raise NotJudged(f"a constant with different items is not understood ({Site(operation, ())})")
    value = int(values.reshape(-1)[0])
    return z3.BoolVal(bool(value)) if type_.element == "i1" else Form.of(value)


@meaning("tt.get_program_id", "tt.get_num_programs")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Form:
    axis = "xyz".index(operation.words[0])
    return Form.of((one.programs if operation.name.endswith("id") else one.kernel.grid)[axis])


@meaning("tt.make_range")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Form:
    start = operation.attributes["start"]
    assert isinstance(start, int)
    return Form.of(lanes[0] + start if start else lanes[0])


@meaning("tt.splat")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Any:
    return one.at(operation.operands[0], ())


@meaning("tt.expand_dims")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Any:
    axis = operation.attributes["axis"]
    assert isinstance(axis, int)
    return one.at(operation.operands[0], (*lanes[:axis], *lanes[axis + 1 :]))


@meaning("tt.broadcast")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Any:
    shape = one.types[operation.operands[0]].shape
    return one.at(
        operation.operands[0],
        tuple(z3.IntVal(0) if size == 1 else lane for size, lane in zip(shape, lanes, strict=True)),
    )


@meaning("tt.reshape")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Any:
    """Items in the order of their lanes, whose number is put together and taken apart again axis by axis."""
    if "allow_reorder" in operation.words or "allow_reorder" in operation.attributes:
        raise NotJudged(f"a reshape in no order is not understood ({Site(operation, ())})")
    sizes, shape = list(one.types[operation.operands[0]].shape), list(one.types[operation.results[0]].shape)
    found: list[z3.ArithRef] = []
    left = list(lanes)
    while sizes:
        # the fewest axes that hold as many items before as after
        before, after = [sizes.pop(0)], [shape.pop(0)] if shape else [1]
        place = left.pop(0) if left else z3.IntVal(0)
        while prod(before) != prod(after):
            if prod(before) < prod(after):
                before.append(sizes.pop(0))
            else:
                after.append(shape.pop(0))
                place = place * after[-1] + left.pop(0)
        rest = prod(before)
        for axis, size in enumerate(before):
            rest //= size
            found.append(z3.simplify(place / rest % size if axis else place / rest))
    return one.at(operation.operands[0], tuple(found))


@meaning("tt.split")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Any:
    return one.at(operation.operands[0], (*lanes, z3.IntVal(number)))


@meaning("arith.addi", "arith.subi", "arith.muli")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Form:
    a, b = _two(one, operation, lanes)
    if not isinstance(a, Form) or not isinstance(b, Form):
        raise NotJudged(f"{operation.name} of truth values is not understood ({Site(operation, ())})")
    return a + b if operation.name == "arith.addi" else a - b if operation.name == "arith.subi" else product(a, b)


@meaning("arith.divsi", "arith.remsi")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Form:
    a, b = _two(one, operation, lanes)
    divisor = b.number
    if divisor is None or divisor <= 0:
        raise NotJudged(f"a divisor that is no positive constant is not understood ({Site(operation, ())})")
    if divisor == 1:
        return a if operation.name == "arith.divsi" else Form.of(0)
    whole = quotient(a.flat, z3.IntVal(divisor))
    return Form.of(whole if operation.name == "arith.divsi" else a.flat - divisor * whole)


@meaning("arith.minsi", "arith.maxsi")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Form:
    a, b = _two(one, operation, lanes)
    return TOGETHER[operation.name](a, b)


@meaning("arith.cmpi")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> z3.BoolRef:
    a, b = _two(one, operation, lanes)
    predicate = COMPARISONS.get(operation.words[0])
    if predicate is None or not isinstance(a, Form) or not isinstance(b, Form):
        raise NotJudged(f"arith.cmpi {operation.words[0]} is not understood ({Site(operation, ())})")
    return predicate(a.flat, b.flat)


@meaning("arith.shrsi")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Form:
    a, b = _two(one, operation, lanes)
    bits = int(one.types[operation.operands[0]].element[1:])
    if b.number is None or not 0 <= b.number < bits:
        raise NotJudged(f"a shift by no constant below {bits} is not understood ({Site(operation, ())})")
    return Form.of(a.flat / 2**b.number)  # rounded down, as z3 divides by what is positive


@meaning("arith.andi", "arith.ori", "arith.xori")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> z3.BoolRef | Form:
    a, b = _two(one, operation, lanes)
    if operation.name == "arith.andi" and isinstance(a, Form) and isinstance(b, Form):
        mask = -1 if b.number is None else b.number
        if mask >= 0 and mask & (mask + 1) == 0:
            return Form.of(a.flat % (mask + 1))
    if isinstance(a, Form) or isinstance(b, Form):
        raise NotJudged(f"{operation.name} of numbers is not understood ({Site(operation, ())})")
    return TRUTHS[operation.name](a, b)


@meaning("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Form:
    value = one.at(operation.operands[0], lanes)
    if isinstance(value, z3.BoolRef):
        return Form.of(z3.If(value, z3.IntVal(1 if operation.name == "arith.extui" else -1), z3.IntVal(0)))
    if operation.name == "arith.extui":
        raise NotJudged(f"arith.extui of a number is not understood ({Site(operation, ())})")
    return value  # a trunci that loses bits is an operation that wraps


@meaning("arith.select")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Any:
    condition = one.at(operation.operands[0], lanes if one.types[operation.operands[0]].shape else ())
    a, b = one.at(operation.operands[1], lanes), one.at(operation.operands[2], lanes)
    return _chosen(condition, a, b)


@meaning("scf.if")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Any:
    yields = [region.entry.operations[-1].operands[number] for region in operation.regions]
    return _chosen(one.at(operation.operands[0], ()), one.at(yields[0], lanes), one.at(yields[1], lanes))


def _chosen(condition: z3.BoolRef, a: Any, b: Any) -> Any:
    if isinstance(a, Pointer):
        if a.tensor != b.tensor:
            raise NotJudged(f"a choice between addresses in {a.tensor} and {b.tensor} is not understood")
        return Pointer(a.tensor, choose(condition, a.offset, b.offset))
    return choose(condition, a, b) if isinstance(a, Form) else z3.If(condition, a, b)


@meaning("tt.reduce")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Any:
    """Lane by lane: a sum, maximum or minimum of numbers, or of truth values, along a short axis."""
    work, axis = operation.regions[0].entry.operations, operation.attributes["axis"]
    shape = one.types[operation.operands[0]].shape
    assert isinstance(axis, int)
    if len(work) != 2 or len(operation.operands) != 1 or work[0].name not in TOGETHER or shape[axis] > MOST_LANES:
        words = f"a reduction that is no sum, maximum or minimum of at most {MOST_LANES} numbers is not understood"
        raise NotJudged(f"{words} ({Site(operation, ())})")
    every = [
        one.at(operation.operands[0], (*lanes[:axis], z3.IntVal(lane), *lanes[axis:])) for lane in range(shape[axis])
    ]
    is_truth = [isinstance(item, z3.BoolRef) for item in every]
    if not all(isinstance(item, Form) for item in every) and not (all(is_truth) and work[0].name in TRUTHS):
        raise NotJudged(f"a reduction of such items is not understood ({Site(operation, ())})")
    return reduce(TOGETHER[work[0].name], every)


@meaning("tt.addptr")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Pointer:
    pointer, offset = _two(one, operation, lanes)
    return Pointer(pointer.tensor, pointer.offset + offset)


@meaning("tt.load")
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Any:
    return one.load(operation, lanes)


@meaning(
    "arith.addf", "arith.mulf", "arith.subf", "arith.divf", "arith.extf", "arith.truncf", "tt.fp_to_fp", "math.exp",
    "math.exp2", "arith.negf", "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf", "arith.sitofp",
    "arith.bitcast", "tt.bitcast", "arith.shli", "arith.shrui", "arith.cmpf",
)  # fmt: skip  # a list of names
def _(one: Evaluation, operation: Operation, lanes: Lanes, number: int) -> Any:
    inputs = [one.at(slot, lanes) for slot in operation.operands]
    if isinstance(inputs[0], Form) and operation.name != "arith.sitofp":
        raise NotJudged(f"{operation.name} of numbers is not understood ({Site(operation, ())})")
    types = [one.types[slot].element for slot in (*operation.operands, operation.results[0])]
    return float_operation(one, operation, inputs, types)
