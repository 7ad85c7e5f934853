"""What the judge's tests judge each property on: read off the tests themselves, so that there is one list."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from properties import catalogue
from properties.candidate import Candidate
from properties.contract import DTYPES, OPERATORS
from properties.engines.base import Engine, Ops
from properties.quality import same_anywhere
from properties.verdict import NotJudged, Violation


@dataclass(frozen=True)
class Judged:
    """A property, the strategy that its test draws from, and the cases that are pinned beside."""

    name: str
    invariant: Any
    cases: SearchStrategy[Any]
    pinned: tuple[Any, ...]
    share: float = 1.0

    def draws(self, profile: str) -> int:
        """How many cases a profile draws of it, those of all dtypes together, as `tests/judging.py` counts them."""
        return round(self.share * settings.get_profile(profile).max_examples * len(DTYPES))

    @property
    def group(self) -> str:
        """The group of the property."""
        return self.name.split(".")[0]


@cache
def table(dtype: str) -> dict[str, Judged]:
    """Every property whose test is two lines, by name."""
    found: dict[str, Judged] = {}

    def record(invariant: Any, cases: SearchStrategy[Any], *pinned: Any, share: float = 1.0) -> None:
        found[invariant.entry.name] = Judged(invariant.entry.name, invariant, cases, pinned, share)

    for group in sorted(catalogue.groups()):
        module = importlib.import_module(catalogue.module_of(group))
        for name, test in inspect.getmembers(module, inspect.isfunction):
            given_by_name = {"judged": record, "dtype": dtype}
            wanted = inspect.signature(test).parameters
            if name.startswith("test_") and set(wanted) <= set(given_by_name):
                test(**{parameter: given_by_name[parameter] for parameter in wanted})
    return found


@cache
def drawn_cases(name: str, dtype: str, count: int) -> tuple[Any, ...]:
    """The first cases that a property's strategy draws, the same ones each time."""
    cases: list[Any] = []

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(table(dtype)[name].cases)
    def keep(case: Any) -> None:
        cases.append(case)

    with same_anywhere():
        keep()
    return tuple(cases)


def bound(name: str, module: Any, engine: Engine | None = None) -> Ops:
    """A module's operators, on the host where no engine is given."""
    operators = {operator: getattr(module, operator) for operator in OPERATORS}
    return (engine or Engine()).bind(Candidate(name, Path(name), "none", operators))


def violation(ops: Ops, name: str, dtype: str, count: int) -> Violation | None:
    """The first violation of a property among that many drawn cases, or None."""
    for case in drawn_cases(name, dtype, count):
        try:
            table(dtype)[name].invariant(ops, case)
        except Violation as found:
            return found
        except NotJudged:
            return None
    return None
