"""Rules: what a serving engine may do next, as a Hypothesis state machine that lives a life rule by rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from properties.books import Books
from properties.cases import Geometry, with_dtype
from properties.lives import Admit, Deed, Fork, Free, LetGo, Life, Preempt, Rows, Step, WarmUp

# One stream of one layer first, then two layers, then four streams: a toy, and models scaled down by 16 and whole.
# Numbers go with them, since each combination is compiled.
_TOY = Geometry(H=1, ws=2, N=3, W=4, D=7)
CACHES = (
    Life(Geometry(H=1, ws=1, N=1, W=2, D=1), blocks=16),
    Life(Geometry(H=1, ws=1, N=4, W=4, D=1), use_residual=False),
    Life(Geometry(H=2, ws=3, N=4, W=4, off_s=3, D=8), layers=2, contents="normal", activation="silu"),
    Life(_TOY, kv=1, blocks=10),
    Life(replace(_TOY, N=8), kv=1, blocks=6, layers=2),
    Life(Geometry(H=2, ws=24, N=16, W=4, D=64), kv=8, blocks=6, layers=2, contents="normal", activation="silu"),
    Life(Geometry(H=1, ws=768, N=32, W=4, D=2048), kv=128, blocks=4, contents="normal"),
)
MOST_LIVE = 4
_ELEMENTS = 2**15  # rows times channels of a forward
_MOST_ROWS = 48

_PICK = st.integers(0, MOST_LIVE - 1)
_SIZE = st.integers(0, 10)
_BESIDE = st.sampled_from([0, 15, 1, 2, 5, 10])  # which others decode beside, a bit each
_WINDOW, _ACCEPTED = st.integers(2, 9), st.integers(0, 8)
_PADS = st.sampled_from([0, 0, 1, 3, 8])


class Client(Protocol):
    """What takes the steps of a life: judges them, or only looks at them."""

    def do(self, step: Deed) -> None:
        """Takes the next step."""

    def end(self) -> None:
        """Hears that the life is over."""


class Engine(RuleBasedStateMachine):
    """A serving engine over one paged cache.

    Arguments of rules are small numbers whatever the state, and name what they can by counting round: every rule that
    may run does a step that the contract allows, and stays the same when an earlier one is taken away.
    """

    def __init__(self, dtype: str, begin: Callable[[Life], Client]) -> None:
        super().__init__()
        self.dtype, self.begin = dtype, begin
        self.client: Client | None = None
        self.dummies = 0

    @initialize(
        cache=st.sampled_from([*CACHES, *CACHES[:-1]]),
        block_seed=st.integers(0, 99),
        seed=st.integers(0, 2**16),
        warm_up=st.sampled_from([0, 0, 1, 4]),
        size=_SIZE,
    )
    def start(self, cache: Life, block_seed: int, seed: int, warm_up: int, size: int) -> None:
        """Begins with an empty cache, sometimes a dummy batch, and a first sequence."""
        case = replace(cache, geometry=with_dtype(cache.geometry, self.dtype), block_seed=block_seed, seed=seed)
        self.books = Books(case)
        self.client = self.begin(case)
        N, W = case.geometry.N, case.geometry.W
        self.sizes = sorted({1, 2, max(1, W - 2), W - 1, W, W + 1, N, N + 1, max(1, N - 1), 2 * N + 1} - {0})
        self.most_rows = max(W + 2, min(_MOST_ROWS, _ELEMENTS // case.channels))
        if warm_up:
            self._do(WarmUp(warm_up))
        self._do(Admit())
        self._forward(0, self._chunk(size), 0, 0)

    def teardown(self) -> None:
        """Ends the life."""
        if self.client is not None:
            self.client.end()

    def can_admit(self) -> bool:
        """Whether one more sequence may come."""
        return self.has_blocks() and len(self.books.live) < MOST_LIVE

    def has_blocks(self) -> bool:
        """Whether a block is free."""
        return bool(self.books.pool.free)

    def has_sequences(self) -> bool:
        """Whether a sequence lives."""
        return bool(self.books.live)

    def has_cached(self) -> bool:
        """Whether a sequence has positions in the cache."""
        return any(self.books.sequences[number].cached for number in self.books.live)

    @precondition(can_admit)
    @rule(is_poisoned=st.sampled_from([False, False, True]), size=_SIZE, beside=_BESIDE, pads=_PADS)
    def admit(self, is_poisoned: bool, size: int, beside: int, pads: int) -> None:
        """A sequence comes, and its first chunk runs beside decodes of others."""
        self._do(Admit(is_poisoned))
        self._forward(len(self.books.sequences) - 1, self._chunk(size), beside, pads)

    @precondition(lambda self: self.can_admit() and self.has_cached())
    @rule(pick=_PICK, less=_PICK, size=_SIZE, beside=_BESIDE, pads=_PADS)
    def share_prefix(self, pick: int, less: int, size: int, beside: int, pads: int) -> None:
        """A sequence comes that begins like another one, in the other one's blocks, and runs a chunk after them."""
        parent = self._pick(pick, is_cached=True)
        N, whole = self.books.N, self.books.sequences[parent].cached // self.books.N
        positions = max(0, whole - less % (whole or 1)) * N
        self._do(Fork(parent, positions if self.books.can_fork(parent, positions) else 0))
        self._forward(len(self.books.sequences) - 1, self._chunk(size), beside, pads)

    @precondition(lambda self: self.can_admit() and self.has_cached())
    @rule(pick=_PICK, beside=_BESIDE, pads=_PADS)
    def fork(self, pick: int, beside: int, pads: int) -> None:
        """A sequence goes on in two ways from here."""
        parent = self._pick(pick, is_cached=True)
        self._do(Fork(parent, self.books.sequences[parent].cached))
        self._forward(len(self.books.sequences) - 1, 1, beside | 1 << self.books.live.index(parent), pads)

    @precondition(has_sequences)
    @rule(pick=_PICK, size=_SIZE, beside=_BESIDE, pads=_PADS, is_alike=st.booleans())
    def chunk(self, pick: int, size: int, beside: int, pads: int, is_alike: bool) -> None:
        """A sequence runs its next chunk or row, or is computed again, beside decodes or chunks of others."""
        self._forward(self._pick(pick), self._chunk(size), beside, pads, is_alike=is_alike)

    @precondition(has_sequences)
    @rule(pick=_PICK, window=_WINDOW, accepted=_ACCEPTED, beside=_BESIDE, pads=_PADS)
    def verify(self, pick: int, window: int, accepted: int, beside: int, pads: int) -> None:
        """A sequence runs a row and drafts, of which some are accepted, beside decodes of others."""
        self._forward(self._pick(pick), window, beside, pads, window - 1 - accepted % window)

    @precondition(has_sequences)
    @rule(window=_WINDOW, accepted=_ACCEPTED, pads=_PADS)
    def verify_all(self, window: int, accepted: int, pads: int) -> None:
        """All sequences run a row and drafts."""
        self._forward(self._pick(0), window, -1, pads, window - 1 - accepted % window, is_alike=True)

    @precondition(lambda self: bool(self._with_old_blocks()))
    @rule(pick=_PICK)
    def let_go(self, pick: int) -> None:
        """The blocks behind a sequence's window are free for others."""
        among = self._with_old_blocks()
        self._do(LetGo(among[pick % len(among)]))

    @precondition(has_cached)
    @rule(pick=_PICK, size=_SIZE, beside=_BESIDE)
    def preempt_and_resume(self, pick: int, size: int, beside: int) -> None:
        """A sequence loses its blocks; the others go on, and it begins to be computed again."""
        number = self._pick(pick, is_cached=True)
        self._do(Preempt(number))
        self._forward(number, self._chunk(size), beside, 0)

    @precondition(lambda self: len(self.books.live) > 1)
    @rule(pick=_PICK)
    def free(self, pick: int) -> None:
        """A sequence ends."""
        self._do(Free(self._pick(pick)))

    @precondition(lambda self: self.dummies < len(self.books.sequences) // 2)
    @rule(rows=st.integers(1, 8), requests=st.integers(0, 3))
    def dummy(self, rows: int, requests: int) -> None:
        """A dummy batch runs, now and then."""
        self.dummies += 1
        self._do(WarmUp(rows, requests))

    def _do(self, step: Deed) -> None:
        assert self.client is not None  # start() ran first
        self.books.apply(step)
        self.client.do(step)

    def _pick(self, pick: int, *, is_cached: bool = False) -> int:
        among = [n for n in self.books.live if not is_cached or self.books.sequences[n].cached]
        return among[pick % len(among)]

    def _with_old_blocks(self) -> list[int]:
        """The sequences that hold a block behind their window."""
        return [number for number in self.books.live if self.books.behind_window(number)]

    def _chunk(self, size: int) -> int:
        """Rows of a chunk: of one row first, around W and N, none last."""
        return [*self.sizes, 0][size % (len(self.sizes) + 1)]

    def _forward(
        self, number: int, count: int, beside: int, pads: int, rejected: int = 0, is_alike: bool = False
    ) -> None:
        """A forward of one sequence and of those others that `beside` names, which run a row each if not `is_alike`.

        As far as there is room.
        """
        others = [n for at, n in enumerate(self.books.live) if beside >> at & 1 and n != number]
        free, rows, work = len(self.books.pool.free), 0, []
        for one in (number, *others):
            is_full = is_alike or one == number
            fits = self._fitting(one, min(count if is_full else 1, self.most_rows - rows), free)
            free -= self.books.pool.missing(self.books.sequences[one], self.books.sequences[one].cached + fits)
            rows += fits
            work.append(Rows(one, fits, min(rejected, fits) if is_full else 0))
        # by numbers that are drawn anyway: about every third step of every other life is a graph's
        is_replayed = self.books.case.seed % 2 == 1 and beside % 3 == 0 and rows + pads > 0
        self._do(Step(tuple(work), pads, is_replayed))

    def _fitting(self, number: int, wanted: int, free: int) -> int:
        """How many of so many rows the free blocks and the block table have room for."""
        one, N = self.books.sequences[number], self.books.N
        room = min((len(one.blocks) + free) * N, self.books.case.columns * N) - one.cached
        return max(0, min(wanted, room))
