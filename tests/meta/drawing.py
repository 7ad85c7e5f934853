"""Drawing cases until one violates a property, the same cases each time and without shrinking."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from properties.verdict import Violation


def first_violation(ops: Any, invariant: Any, cases: Any, examples: int) -> Violation | None:
    """A violation of one property among that many drawn cases, as drawn, or None."""

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=True,  # a test of the judge must not turn on luck
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(cases)
    def every(case: Any) -> None:
        invariant(ops, case)

    try:
        every()
    except Violation as violation:
        return violation
    return None
