"""How often the strategies draw what the contract allows: python -m properties.quality > docs/generation.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.internal.conjecture import providers
from hypothesis.statistics import collector
from hypothesis.strategies import SearchStrategy

from properties import graph_strategies, size_strategies, strategies
from properties.contract import ACTIVATIONS
from properties.features import Facts
from properties.features.far import far_features
from properties.features.forward import forward_features
from properties.features.long import long_features
from properties.features.metadata import metadata_features
from properties.features.schedule import schedule_features
from properties.features.streams import streams_features
from properties.replays import replays_facts

CASES = 1000
HYPOTHESIS = version("hypothesis")  # whose draws the page shows
MOST_REJECTED = 0.05
LEAST = 0.01  # nothing that the contract allows may be rarer in the strategy it belongs to
KINDS = ("exact", "normal", "wide", "cancel")


@dataclass(frozen=True)
class Drawn:
    """The shares of what one strategy drew."""

    cases: int
    shares: dict[str, float]  # by feature, in the order in which the features are written down
    rejected: float  # share of tries that an assume or a filter ended
    truncated: float  # share of tries that Hypothesis itself ended, as longer than it wanted

    @property
    def rare(self) -> dict[str, float]:
        """What is drawn in fewer than one of a hundred cases."""
        return {name: share for name, share in self.shares.items() if share < LEAST}


@contextmanager
def same_anywhere() -> Iterator[None]:
    """Makes seeded draws the same in every process.

    Hypothesis mixes the numbers that stand in the code of all loaded modules into its draws, so that a test's
    draws, derandomised ones included, would depend on which other tests the process has met.
    """
    providers.CONSTANTS_CACHE.cache.clear()
    with mock.patch.object(providers.HypothesisProvider, "_local_constants", providers.Constants()):
        yield
    providers.CONSTANTS_CACHE.cache.clear()


# One dtype stands for all, since every strategy is the same for each.
MEASURED: dict[str, tuple[SearchStrategy[Any], Callable[[Any], Facts]]] = {
    "forwards": (strategies.forwards("bf16", KINDS, ACTIVATIONS), forward_features),
    "streams": (strategies.streams("bf16"), streams_features),
    "schedules": (strategies.schedules("bf16"), schedule_features),
    "far_forwards": (size_strategies.far_forwards("bf16"), far_features),
    "long_forwards": (size_strategies.long_forwards("bf16"), long_features),
    "metadata": (strategies.metadata(), metadata_features),
    "replays": (graph_strategies.replays("bf16", None), replays_facts),
}


def drawn(name: str) -> Drawn:
    """What one of the measured strategies draws."""
    return counted(*MEASURED[name], CASES)


def counted(strategy: SearchStrategy[Any], facts_of: Callable[[Any], Facts], cases: int) -> Drawn:
    """Draws that many cases of a strategy, the same ones each time, and counts what they have."""
    hits: Counter[str] = Counter()
    tries: list[str] = []

    @seed(20)
    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(case: Any) -> None:
        hits.update({feature: int(holds) for feature, holds in facts_of(case).items()})

    def statistics(told: Any) -> None:
        tries.extend(one["status"] for one in told["generate-phase"]["test-cases"])

    with same_anywhere(), collector.with_value(statistics):  # type: ignore[arg-type]  # annotated by its default, None
        draw()
    valid, total = tries.count("valid"), len(tries)
    shares = {feature: count / valid for feature, count in hits.items()}
    return Drawn(valid, shares, tries.count("invalid") / total, tries.count("overrun") / total)


def page() -> str:
    """The shares in Markdown, a table per strategy."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from (
        "# What is generated",
        "",
        f"Written by `python -m properties.quality` with Hypothesis {HYPOTHESIS}; a test keeps it current. Each",
        f"strategy of `properties/strategies.py` draws {CASES:,} cases from a fixed seed; a share is that of the cases",
        "that have the feature (`properties/features/`). The strategies are the same for each dtype. Sizes that no",
        "draw reaches are pinned (`properties/pinned.py`); rows of `x` that lie apart are not drawn, since a property",
        "of their own spreads those of every case.",
    )
    for name in MEASURED:
        one = drawn(name)
        yield from ("", f"## `{name}`", "")
        yield f"{one.cases:,} cases; assume and filters rejected {one.rejected:.1%} of the tries."
        yield from ("", "| a case has | share |", "|---|---|")
        yield from (f"| {feature} | {share:.1%} |" for feature, share in one.shares.items())


if __name__ == "__main__":
    print(page(), end="")
