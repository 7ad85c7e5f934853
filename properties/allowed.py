"""Which cases the contract allows: the one line that says what a case written by hand has wrong."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import fields
from functools import singledispatch
from typing import Any

from properties.books import Books
from properties.cases import (
    CONTENTS,
    FAR,
    FAR_WEIGHTS,
    Case,
    Forward,
    Geometry,
    Layout,
    Metadata,
    Request,
    Schedule,
    Streams,
)
from properties.contract import ACTIVATIONS, DTYPES
from properties.lives import Life
from properties.memory import RED_ZONE
from properties.replays import Replays

WEIGHTS = ("plain", "transposed", "sliced", *FAR_WEIGHTS)
BATCH_FIELDS = ("geometry", "activation", "use_residual", "layout")  # what graphs freeze: alike in every forward


def fault(case: Any) -> str | None:
    """What is wrong with a case, its parts included, in one line that names field, value and rule; None if nothing."""
    if not isinstance(case, Case):
        return f"the case is {case!r}, but must be a Forward, Metadata, Schedule, Streams, Replays or Life"
    try:
        return next(_faults(case), None)
    except ValueError as error:  # a step of a life that cannot be done says so itself
        return f"{type(case).__name__}: {error}"


def _faults(case: Case) -> Iterator[str]:
    """Kinds of the fields first, parts before the whole, since rules count on them."""
    hints = typing.get_type_hints(type(case))
    for field in fields(case):  # type: ignore[arg-type]  # every subclass is a dataclass
        value = getattr(case, field.name)
        if words := _kind_fault(value, hints[field.name]):
            yield f"{type(case).__name__}.{field.name} is {value!r}, but must be {words}"
    for field in fields(case):  # type: ignore[arg-type]  # as above
        value = getattr(case, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Case):
                yield from _faults(part)
    for name, rule in _broken(case):
        yield f"{type(case).__name__}.{name} is {getattr(case, name)!r}, but must be {rule}"


_WORDS = {int: "a whole number", str: "a word", bool: "True or False", type(None): "None"}


def _kind_fault(value: Any, hint: Any) -> str | None:
    """What a value must be to fit a field's annotation, or None if it does."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        choices = typing.get_args(hint)
        fits = any(_kind_fault(value, one) is None for one in choices)
        return None if fits else " or ".join(_WORDS.get(one) or one.__name__ for one in choices)
    if typing.get_origin(hint) is tuple:
        one = typing.get_args(hint)[0]
        if isinstance(value, tuple) and all(_kind_fault(part, one) is None for part in value):
            return None
        lone = not isinstance(value, tuple) and _kind_fault(value, one) is None
        kind = {int: "whole numbers"}.get(one) or f"{getattr(one, '__name__', 'step')}s"
        return f"a tuple of {kind}" + f"; of one it has a comma: ({value!r},)" * lone
    if isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return None
    return _WORDS.get(hint) or f"a {hint.__name__}"


@singledispatch
def _broken(case: Any) -> Iterator[tuple[str, str]]:
    """The fields of a case, its parts left out, that break a rule, and the rule in words."""
    yield from ()


def _below(case: Any, least: int, *names: str) -> Iterator[tuple[str, str]]:
    for name in names:
        if getattr(case, name) < least:
            yield name, f"at least {least}"


def _outside(case: Any, allowed: typing.Iterable[Any], *names: str) -> Iterator[tuple[str, str]]:
    for name in names:
        if getattr(case, name) not in allowed:
            yield name, "one of " + ", ".join(map(repr, allowed))


def _numbers(case: Any) -> Iterator[tuple[str, str]]:
    """What every case with contents has."""
    yield from _outside(case, ACTIVATIONS, "activation")
    yield from _outside(case, CONTENTS, "contents")
    yield from _below(case, 0, "block_seed", "seed")


@_broken.register
def _(case: Geometry) -> Iterator[tuple[str, str]]:
    yield from _below(case, 1, "H", "ws", "N", "W", "D")
    yield from _below(case, 0, "off_s")
    yield from _outside(case, DTYPES, "dtype")
    if case.off_s + case.ws > case.D:
        name, other = ("off_s", "ws") if case.off_s else ("ws", "off_s")
        yield name, f"at most D - {other} = {case.D - getattr(case, other)}: the stream lies in a row of D elements"


@_broken.register
def _(case: Request) -> Iterator[tuple[str, str]]:
    yield from _below(case, 0, "start", "length")


@_broken.register
def _(case: Layout) -> Iterator[tuple[str, str]]:
    yield from _below(case, 0, "table_columns", "table_rows", "table_gap", "page_pad", "spare_blocks", "x_gap", "shift")
    yield from _outside(case, WEIGHTS, "weight")
    yield from _outside(case, ("", *DTYPES), "weight_dtype")
    if case.shift >= RED_ZONE:
        yield "shift", f"below {RED_ZONE}, the elements before a tensor"
    if case.head_stride and case.head_stride < FAR:
        yield "head_stride", f"0 or at least {FAR}"


@_broken.register
def _(case: Forward) -> Iterator[tuple[str, str]]:
    yield from _numbers(case)
    yield from _below(case, 0, "pads")
    if sorted({*case.holes} & {*range(case.rows)}) != sorted(case.holes):
        yield "holes", f"rows below {case.rows}, each once"
    for index, request in enumerate(case.requests):
        if request.fork is not None and not 0 <= request.fork < index:
            yield "requests", f"such that the fork of request {index}, {request.fork}, is an earlier request"


@_broken.register
def _(case: Metadata) -> Iterator[tuple[str, str]]:
    yield from _below(case, 0, "repeat", "slack", "extra", "shift", "seed")
    if min(case.lengths, default=0) < 0:
        yield "lengths", "numbers from 0"
    if case.padding is not None and case.padding < 0:
        yield "padding", "None or at least 0"
    if case.shift >= RED_ZONE:
        yield "shift", f"below {RED_ZONE}, the elements before a tensor"


@_broken.register
def _(case: Schedule) -> Iterator[tuple[str, str]]:
    yield from _numbers(case)
    yield from _below(case, 1, "window")
    if min(case.cuts, default=0) < 0:
        yield "cuts", "numbers from 0"
    if not 0 <= case.accepted < case.window:
        yield "accepted", f"from 0 to window - 1 = {case.window - 1}"


@_broken.register
def _(case: Streams) -> Iterator[tuple[str, str]]:
    yield from _below(case, 1, "kv", "wide")
    if sorted(case.order) != [0, 1, 2, 3]:
        yield "order", "0, 1, 2 and 3 in any order"


@_broken.register
def _(case: Replays) -> Iterator[tuple[str, str]]:
    yield from _below(case, 0, "spare", "small", "layers")
    yield from _below(case, 1, "kv", "wide")
    yield from _outside(case, ("pad", "first"), "dummy")
    if not case.forwards:
        yield "forwards", "at least one"
    for name in BATCH_FIELDS:
        if len({getattr(forward, name) for forward in case.forwards}) > 1:
            yield "forwards", f"alike in {name}, which a graph freezes"
    stages = range(case.stages)
    if not set(case.breaks) <= set(stages[1:]):
        yield "breaks", f"stages from 1 to {stages[-1]}"
    if case.eager is not None and case.eager not in stages:
        yield "eager", f"None or a stage from 0 to {stages[-1]}"


@_broken.register
def _(case: Life) -> Iterator[tuple[str, str]]:
    yield from _numbers(case)
    yield from _below(case, 0, "kv")
    yield from _below(case, 1, "layers", "blocks")
    if case.blocks > 0:
        books = Books(case)
        for step in case.steps:
            books.apply(step)  # says itself what cannot be done
