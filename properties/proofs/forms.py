"""Integers as sums over strides, so that an address keeps the index of each axis apart and stays linear."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import z3

# (stride symbol or "", constant factor): what an index is multiplied by
Key = tuple[str, int]
ONE: Key = ("", 1)


@dataclass(frozen=True)
class Form:
    """`Σ factor · stride · expression`; the expressions are linear integer arithmetic without strides."""

    terms: tuple[tuple[Key, z3.ArithRef], ...]

    @classmethod
    def of(cls, value: int | z3.ArithRef) -> Form:
        """A number, or an expression without strides."""
        return cls(((ONE, z3.IntVal(value) if isinstance(value, int) else value),))

    @classmethod
    def stride(cls, symbol: str) -> Form:
        """A stride that stays a symbol."""
        return cls((((symbol, 1), z3.IntVal(1)),))

    @property
    def symbols(self) -> set[str]:
        """The strides it depends on."""
        return {symbol for (symbol, _), _ in self.terms if symbol}

    @property
    def flat(self) -> z3.ArithRef:
        """As one expression; a product with a stride is not linear."""
        pieces = []
        for (symbol, factor), one in self.terms:
            scaled = one if factor == 1 else factor * one
            pieces.append(scaled * z3.Int(symbol) if symbol else scaled)
        return reduce(lambda a, b: a + b, pieces) if pieces else z3.IntVal(0)

    @property
    def number(self) -> int | None:
        """The constant that it is, if it is one."""
        if self.symbols:
            return None
        value = z3.simplify(self.flat)
        return value.as_long() if z3.is_int_value(value) else None

    def __add__(self, other: Form) -> Form:
        terms = dict(self.terms)
        for key, one in other.terms:
            terms[key] = terms[key] + one if key in terms else one
        return Form(tuple(terms.items()))

    def __neg__(self) -> Form:
        return self.scaled(-1)

    def __sub__(self, other: Form) -> Form:
        return self + -other

    def scaled(self, number: int) -> Form:
        """A multiple; terms whose factors differ by the sign alone are kept together."""
        if number == 0:
            return Form.of(0)
        terms: dict[Key, z3.ArithRef] = {}
        for (symbol, factor), one in self.terms:
            key = (symbol, abs(factor * number))
            signed = one if factor * number > 0 else -one
            terms[key] = terms[key] + signed if key in terms else signed
        return Form(tuple(terms.items()))

    def __mul__(self, other: Form) -> Form:
        for one, rest in ((self, other), (other, self)):
            if (number := one.number) is not None:
                return rest.scaled(number)
        for one, rest in ((self, other), (other, self)):
            if len(one.terms) == 1 and one.symbols and not rest.symbols and one.coefficient == 1:
                return Form(((one.terms[0][0], rest.flat),))
        return Form.of(self.flat * other.flat)

    @property
    def coefficient(self) -> int | None:
        """The number before the stride of a form that is one stride's multiple."""
        value = z3.simplify(self.terms[0][1])
        return value.as_long() if z3.is_int_value(value) else None

    def split(self, strides: tuple[int | str, ...], sizes: tuple[object, ...]) -> tuple[z3.ArithRef, ...]:
        """The index on each axis of a tensor: what is a multiple of its stride, the largest first.

        If every index is inside its axis, the address is that element; whoever calls proves that.
        """
        left, found = self.terms, []
        for stride, size in zip(strides, sizes, strict=True):
            taken = [] if size == 1 else [term for term in left if _quotient(term[0], stride)]
            left = tuple(term for term in left if term not in taken)
            found.append(_total([(_quotient(key, stride), one) for key, one in taken]))
        if left:  # belongs to no axis: the last one takes it, and is then outside of its size
            found[-1] = found[-1] + Form(left).flat
        return tuple(found)


def product(a: Form, b: Form) -> Form:
    """`a * b`; a count of truths times a number stays linear, as a sum of choices."""
    if a.number is None and b.number is None and not a.symbols and not b.symbols:
        for one, other in ((a.flat, b.flat), (b.flat, a.flat)):
            if (found := _times(one, other)) is not None:
                return Form.of(found)
    return a * b


def _times(count: z3.ArithRef, number: z3.ArithRef) -> z3.ArithRef | None:
    if z3.is_int_value(count):
        return count.as_long() * number
    kind, parts = count.decl().kind(), count.children()
    if kind not in (z3.Z3_OP_ITE, z3.Z3_OP_ADD):
        return None
    found = [_times(part, number) for part in parts[kind == z3.Z3_OP_ITE :]]
    if any(one is None for one in found):
        return None
    return z3.If(parts[0], *found) if kind == z3.Z3_OP_ITE else z3.Sum(found)


def choose(condition: z3.BoolRef, chosen: Form, other: Form) -> Form:
    """One of two forms, term by term."""
    terms = {}
    left, right = dict(chosen.terms), dict(other.terms)
    zero = z3.IntVal(0)
    for key in {**left, **right}:
        terms[key] = z3.If(condition, left.get(key, zero), right.get(key, zero))
    return Form(tuple(terms.items()))


def _quotient(key: Key, stride: int | str) -> int:
    """How many strides a term's factor is, 0 if it is no multiple."""
    symbol, factor = key
    if isinstance(stride, str):
        return factor if symbol == stride else 0
    return factor // stride if not symbol and factor % stride == 0 else 0


def _total(terms: list[tuple[int, z3.ArithRef]]) -> z3.ArithRef:
    pieces = [one if number == 1 else number * one for number, one in terms]
    return reduce(lambda a, b: a + b, pieces) if pieces else z3.IntVal(0)


def quotient(a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
    """`a / b` rounded toward zero, as TTIR divides, for a positive divisor."""
    return z3.If(a >= 0, a / b, -((-a) / b))
