"""A violation as JSON data, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from properties.report.reading import read
from properties.verdict import Source, Spread, Tap, Violation

Made = TypeVar("Made")
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}  # JSON has no numbers for these


def as_data(violation: Violation) -> dict[str, Any]:
    """Every field of a violation as JSON data, its headline first; the case as its text."""
    rest = {one.name: plain(getattr(violation, one.name)) for one in fields(violation) if one.name != "case"}
    case = None if violation.case is None else repr(violation.case)
    return {"headline": violation.headline, **rest, "case": case}


def plain(value: object) -> Any:
    """A value as JSON data: a dataclass or mapping as an object, a sequence as an array, what JSON lacks as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    return str(value)


def from_data(data: Mapping[str, Any]) -> Violation:
    """The violation that `as_data` made data of. Raises ValueError for a case that cannot be read."""
    taps, spread, case = tuple(map(_tap, data["taps"])), data["spread"], data["case"]
    return _made(
        Violation,
        data,
        taps=taps,
        spread=_made(Spread, spread, elements=_elements(spread)) if spread else None,
        case=None if case is None else read(case),
    )


def _tap(tap: Mapping[str, Any]) -> Tap:
    return _made(Tap, tap, **{name: _made(Source, tap[name]) if tap[name] else None for name in ("meant", "came")})


def _elements(spread: Mapping[str, Any]) -> tuple[tuple[int, int, float], ...]:
    return tuple((row, channel, NOT_FINITE.get(ulps, ulps)) for row, channel, ulps in spread["elements"])


def _made(kind: type[Made], data: Mapping[str, Any], **known: Any) -> Made:
    """An instance from those of the data that it has a field for: a later report may hold more."""
    given = {one.name: data[one.name] for one in fields(kind) if one.name in data}  # type: ignore[arg-type]
    return kind(**{**given, **known})
