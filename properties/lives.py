"""Lives: what a serving engine does with one cache, step by step, in small integers and no tensors."""

from __future__ import annotations

from dataclasses import dataclass

from properties.cases import Case, Geometry, layer_streams


@dataclass(frozen=True, repr=False)
class Admit(Case):
    """A new sequence without history; with NaN as its inputs, throughout, where `is_poisoned`."""

    is_poisoned: bool = False


@dataclass(frozen=True, repr=False)
class Fork(Case):
    """A new sequence with the first `positions` of a live one: whole blocks are shared, the last part is copied."""

    parent: int = 0
    positions: int = 0


@dataclass(frozen=True, repr=False)
class Rows(Case):
    """Part of a forward: the next `count` rows of a sequence, of which the last `rejected` are taken back after it."""

    sequence: int = 0
    count: int = 1
    rejected: int = 0


@dataclass(frozen=True, repr=False)
class Step(Case):
    """One forward over all streams and layers: `work` in row order, then `pads` rows of padding.

    Where it `is_replayed`, padding fills it up to a bucket of 4, 8, 16, … rows, and the bucket's graph runs it:
    captured when the first such step comes, replayed by it and by all later ones.
    """

    work: tuple[Rows, ...] = (Rows(),)
    pads: int = 0
    is_replayed: bool = False


@dataclass(frozen=True, repr=False)
class WarmUp(Case):
    """A dummy forward of `rows` rows that have no slots: of so many requests, or padding alone where there are none."""

    rows: int = 1
    requests: int = 0


@dataclass(frozen=True, repr=False)
class LetGo(Case):
    """Blocks of a sequence that lie behind its window go back to the pool, to be handed out next."""

    sequence: int = 0


@dataclass(frozen=True, repr=False)
class Preempt(Case):
    """A sequence loses its blocks, which are handed out last, and must be computed again."""

    sequence: int = 0


@dataclass(frozen=True, repr=False)
class Free(Case):
    """A sequence ends; its blocks are handed out next, with what they hold."""

    sequence: int = 0


Deed = Admit | Fork | Step | WarmUp | LetGo | Preempt | Free
ONE_CHANNEL = Geometry()


@dataclass(frozen=True, repr=False)
class Life(Case):
    """The life of one cache of `blocks` blocks: sequences count from 0 in the order in which they came.

    `kv` is the width of the K and V streams, which lie before two of the geometry's `ws`, as in the models; 0 leaves
    one stream, that of the geometry. `layers` lie side by side in every block. Before the first step the cache is NaN.
    """

    geometry: Geometry = ONE_CHANNEL
    steps: tuple[Deed, ...] = ()
    kv: int = 0
    layers: int = 1
    blocks: int = 8
    activation: str | None = None
    use_residual: bool = True
    contents: str = "exact"
    block_seed: int = 0
    seed: int = 0

    @property
    def streams(self) -> tuple[Geometry, ...]:
        """The streams of a layer."""
        return layer_streams(self.geometry, self.kv) if self.kv else (self.geometry,)

    @property
    def channels(self) -> int:
        """Channels of all streams of all layers."""
        return self.layers * sum(stream.C for stream in self.streams)

    @property
    def columns(self) -> int:
        """Columns of the block table: a sequence that lets blocks go outgrows the cache."""
        return 2 * self.blocks
