"""Cases about graphs: batches replayed from regions that were captured once, for buckets of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from properties.cases import Case, Forward, Streams, edges


@dataclass(frozen=True, repr=False)
class Replays(Case):
    """`forwards`, replayed one after another; they differ in requests, padding, contents and physical blocks only.

    The larger bucket has `spare` rows more than the largest forward, a smaller one takes those that fit in
    `small` rows (0: there is none). `layers` 0 runs the forwards' own stream, else the four streams (widths
    `kv` and `wide`) of so many layers. Stages are the metadata operator, if `inside`, and one `fused_sconv` for
    each stream. A new graph begins at each stage of `breaks`; the stage `eager` runs between graphs.
    """

    forwards: tuple[Forward, ...] = (Forward(),)
    spare: int = 0
    small: int = 0
    layers: int = 0
    kv: int = 1
    wide: int = 1
    inside: bool = False
    breaks: tuple[int, ...] = ()
    eager: int | None = None
    dummy: str = "pad"  # what the buffers hold at capture: "pad" (no row has a slot) or "first" (the first forward)

    def streams(self, index: int) -> tuple[tuple[Forward, ...], ...]:
        """Forward `index` as the streams of each layer see it, contents of their own in each."""
        forward = self.forwards[index]
        if not self.layers:
            return ((forward,),)
        shifted = [replace(forward, seed=forward.seed + 2**20 * layer) for layer in range(self.layers)]
        return tuple(Streams(one, self.kv, self.wide).forwards for one in shifted)

    @property
    def stages(self) -> int:
        """How many operator calls a step makes."""
        return int(self.inside) + max(1, 4 * self.layers)

    @property
    def segments(self) -> tuple[tuple[bool, tuple[int, ...]], ...]:
        """The stages in runs: whether a run is captured, and which stages it holds."""
        found: list[tuple[bool, tuple[int, ...]]] = []
        for stage in range(self.stages):
            captured = stage != self.eager
            if found and captured == found[-1][0] and stage not in self.breaks:
                found[-1] = (captured, (*found[-1][1], stage))
            else:
                found.append((captured, (stage,)))
        return tuple(found)

    @property
    def rows(self) -> int:
        """Rows of the larger bucket; at least one, as a graph of nothing captures nothing."""
        return max(1, *(forward.T for forward in self.forwards)) + self.spare

    def bucket(self, index: int) -> int:
        """Rows of the bucket that forward `index` runs in."""
        return self.small if max(1, self.forwards[index].T) <= self.small < self.rows else self.rows

    @property
    def requests(self) -> int:
        """Rows of the block table; the last one owns the padding where metadata are made inside."""
        return 1 + max(len(forward.requests) + forward.layout.table_rows for forward in self.forwards)


def replays_facts(case: Replays) -> dict[str, bool]:
    """The situations of a replay by name, and whether a case reaches them."""
    buckets = [case.bucket(index) for index in range(len(case.forwards))]
    actual = [forward.rows for forward in case.forwards]
    lengths = [request.length for forward in case.forwards for request in forward.requests if request.start]
    inner = edges(case.forwards[-1])
    return {
        "fewer rows than before": any(later < earlier for earlier, later in pairwise(actual)),
        "more rows than before": any(later > earlier for earlier, later in pairwise(actual)),
        "full bucket": any(rows == bucket for rows, bucket in zip(actual, buckets, strict=True)),
        "empty batch": 0 in actual,
        "verify window": any(1 < length <= 9 for length in lengths),
        "two buckets": len(set(buckets)) == 2,
        "captured with padding": case.dummy == "pad",
        "captured with a batch": case.dummy != "pad",
        "metadata in the graph": case.inside,
        "broken graph": len(case.segments) > 1,
        "eager stage": case.eager is not None,
        "two layers": case.layers == 2,
        **{name: name in inner for name in ("cached tap", "two requests", "stored row")},
    }


def replays_edges(case: Replays) -> frozenset[str]:
    """The situations of a replay that a case reaches."""
    return frozenset(name for name, holds in replays_facts(case).items() if holds)
