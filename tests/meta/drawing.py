"""Drawing cases until one violates a property, the same cases each time and without shrinking."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from properties.quality import same_anywhere
from properties.verdict import Violation


def generating(count: int, **more: Any) -> settings:
    """Draws that many cases, the same each time and no smaller ones: a test of the judge must not turn on luck."""
    return settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        **more,
    )


def first_violation(ops: Any, invariant: Any, cases: Any, examples: int) -> Violation | None:
    """A violation of one property among that many drawn cases, as drawn, or None."""

    @generating(examples)
    @given(cases)
    def every(case: Any) -> None:
        invariant(ops, case)

    try:
        with same_anywhere():
            every()
    except Violation as violation:
        return violation
    return None
