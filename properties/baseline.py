"""The baseline: another kernel that the candidate is compared with, and that is not judged itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from properties import journal, surroundings
from properties.candidate import Candidate
from properties.configurations import Watch
from properties.engines.base import Engine, Ops
from properties.verdict import NotJudged, Violation

Result = TypeVar("Result")


class _Unheard(Watch):
    """Counts no configuration: those of the baseline's kernels are not judged."""

    def seen(self, kernel: str, every: list[str], left: list[str], chosen: str) -> None:
        """Takes no notice."""


class Baseline(Ops):
    """The baseline's operators; their hazards, prints and changes to the process are told of nobody."""

    whose = journal.BASELINE

    def __init__(self, candidate: Candidate, engine: Engine) -> None:
        super().__init__(candidate, engine)
        self.tuned = _Unheard()

    def _watched(self, operator: str) -> AbstractContextManager[None]:
        return surroundings.restored()

    def _observe(self, operator: str, context: Any, result: object) -> None:
        pass


def of_baseline(ops: Baseline, property_name: str, case: object, run: Callable[[Baseline], Result]) -> Result:
    """What `run` gives for the baseline; where that breaks the contract, nothing can be compared: NotJudged."""
    try:
        with ops.judging(property_name, case):
            return run(ops)
    except Violation as violation:
        raise NotJudged(f"the baseline {ops.name} is wrong itself: {violation.headline} {case!r}") from None
