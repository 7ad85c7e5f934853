"""The books of a life: which sequences live and which blocks they hold, step by step, without tensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatchmethod

import numpy as np

from properties.lives import Admit, Fork, Free, LetGo, Life, Preempt, Rows, Step, WarmUp
from properties.number_words import counted
from properties.pool import Pages, Pool


@dataclass
class Sequence(Pages):
    """A sequence and its history: `known` positions have inputs, the first `cached` of them are in the cache."""

    known: int = 0
    is_poisoned: bool = False
    is_live: bool = True


@dataclass(frozen=True)
class Span:
    """Rows of one sequence in a forward: `count` positions from `start` on, and the sequence's blocks."""

    sequence: int
    start: int
    count: int
    blocks: tuple[int | None, ...]


class Books:
    """Keeps account of a life. A step that cannot be done raises ValueError, in one line.

    `seen` has the situations that were met, by name.
    """

    def __init__(self, case: Life) -> None:
        self.case, self.N, self.W = case, case.geometry.N, case.geometry.W
        self.pool = Pool(case.blocks, self.N)
        if case.block_seed:
            np.random.default_rng(case.block_seed).shuffle(self.pool.free)
        self.sequences: list[Sequence] = []
        self.spans: list[Span] = []  # of the last forward
        self.copied: tuple[int, int] | None = None  # source and destination of the last fork's partial block
        self.earlier: dict[int, int] = {}  # block -> the sequence that held it last
        self.captured: set[int] = set()  # rows of the graphs that there are
        self.seen = {name for name, holds in (("four streams", case.kv), ("two layers", case.layers > 1)) if holds}

    @property
    def live(self) -> list[int]:
        """The sequences that have not ended."""
        return [number for number, sequence in enumerate(self.sequences) if sequence.is_live]

    def can_fork(self, parent: int, positions: int) -> bool:
        """Whether a live sequence has that many positions in the cache, and the window before them still in blocks."""
        one = self.sequences[parent]
        window = range(max(0, positions - (self.W - 1)) // self.N, -(-positions // self.N))
        return positions <= one.cached and all(one.blocks[block] is not None for block in window)

    def behind_window(self, number: int) -> list[int]:
        """The blocks that a sequence may let go: no row that follows has a tap in them."""
        return self.pool.behind(self.sequences[number], self.W - 1)

    @singledispatchmethod
    def apply(self, step: object) -> None:
        """Does a step."""
        raise ValueError(f"step is {step!r}, but must be one of Admit, Fork, Step, WarmUp, LetGo, Preempt, Free")

    @apply.register
    def _(self, step: Admit) -> None:
        self.sequences.append(Sequence(is_poisoned=step.is_poisoned))

    @apply.register
    def _(self, step: Fork) -> None:
        parent, positions = self._living(step.parent), step.positions
        if not 0 <= positions <= parent.known or not self.can_fork(step.parent, positions):
            held = f"{counted(parent.cached, 'position')} in the cache, in blocks {parent.blocks}"
            raise ValueError(f"sequence {step.parent} cannot be forked at position {positions}: it has {held}")
        whole, rest = divmod(positions, self.N)
        child = Sequence(positions, self.pool.share(parent.blocks[:whole]), known=positions)
        self.copied = None
        source = parent.blocks[whole] if rest else None
        if source is not None:
            self._reserve(len(self.sequences), child, positions)
            copy = child.blocks[whole]
            assert copy is not None  # it was just reserved
            self.copied = (source, copy)
            self.seen.add("fork inside a block")
        if any(block is not None for block in child.blocks[:whole]):
            self.seen.add("shared prefix")
        self.sequences.append(child)

    @apply.register
    def _(self, step: Step) -> None:
        self.spans = []
        for rows in step.work:
            if any(span.sequence == rows.sequence for span in self.spans):
                raise ValueError(f"sequence {rows.sequence} is in one forward twice: {step!r}")
            self.spans.append(self._span(rows))
        for rows, span in zip(step.work, self.spans, strict=True):
            one, kept = self.sequences[rows.sequence], rows.count - rows.rejected
            self._note_rows(one, span, kept)
            one.cached = span.start + kept
            one.known = max(one.known, one.cached)
        self._note_forward(step)
        if step.is_replayed:
            size = bucket(sum(span.count for span in self.spans) + step.pads)
            self.seen.add("graph replayed on refilled buffers" if size in self.captured else "graph captured")
            self.captured.add(size)

    @apply.register
    def _(self, step: WarmUp) -> None:
        if step.rows < 1 or step.requests < 0:
            raise ValueError(f"a dummy forward has a row at least: {step!r}")
        self.seen.add("dummy forward")

    @apply.register
    def _(self, step: LetGo) -> None:
        one = self._living(step.sequence)
        if self.behind_window(step.sequence):
            self.seen.add("blocks let go")
        self.pool.let_go(one, self.W - 1)

    @apply.register
    def _(self, step: Preempt) -> None:
        self.pool.release(self._living(step.sequence), is_last=True)

    @apply.register
    def _(self, step: Free) -> None:
        one = self._living(step.sequence)
        self.pool.release(one)
        one.is_live = False

    def _living(self, number: int) -> Sequence:
        if not 0 <= number < len(self.sequences) or not self.sequences[number].is_live:
            raise ValueError(f"sequence {number} does not live; sequences {self.live} do")
        return self.sequences[number]

    def _span(self, rows: Rows) -> Span:
        one = self._living(rows.sequence)
        stop = one.cached + rows.count
        if not 0 <= rows.rejected <= rows.count or stop > self.case.columns * self.N:
            raise ValueError(f"{rows!r} leads to position {stop} of {self.case.columns * self.N}")
        self._reserve(rows.sequence, one, stop)
        return Span(rows.sequence, one.cached, rows.count, tuple(one.blocks))

    def _reserve(self, number: int, one: Sequence, positions: int) -> None:
        if self.pool.missing(one, positions) > len(self.pool.free):
            raise ValueError(f"the cache is full: sequence {number} needs blocks for {counted(positions, 'position')}")
        for block in self.pool.reserve(one, positions):
            last = self.earlier.get(block, number)
            if last != number:
                self.seen.add("recycled block")
                if self.sequences[last].is_poisoned:
                    self.seen.add("NaN left behind")
            self.earlier[block] = number

    def _note_rows(self, one: Sequence, span: Span, kept: int) -> None:
        facts = {
            "recomputed": span.count > 0 and span.start < one.known,
            "chunk shorter than W": span.start > 0 and 0 < span.count < self.W - 1,
            "rejected drafts": kept < span.count,
            "accepted drafts": 1 < kept < span.count,
            "request without rows": span.count == 0,
            "cached tap": span.start > 0 and span.count > 0 and self.W > 1,
        }
        self.seen |= {name for name, holds in facts.items() if holds}

    def _note_forward(self, step: Step) -> None:
        decodes = any(span.count == 1 and span.start for span in self.spans)
        if decodes and any(span.count > 1 for span in self.spans):
            self.seen.add("chunk beside a decode")
        if sum(span.count > 1 for span in self.spans) > 1:
            self.seen.add("two chunks")
        if step.pads:
            self.seen.add("padded rows")


def bucket(rows: int) -> int:
    """The rows of the graph that a step of so many rows runs in."""
    return max(4, 1 << (rows - 1).bit_length())


def life_edges(case: Life) -> frozenset[str]:
    """The situations that a life meets, by name."""
    books = Books(case)
    for step in case.steps:
        books.apply(step)
    return frozenset(books.seen)
