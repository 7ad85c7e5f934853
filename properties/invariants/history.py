"""History: at every step of a cache's life, outputs and memory are what the full histories say."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, singledispatchmethod
from typing import Any, NoReturn

import torch

from properties import alone, explain, step_words
from properties.books import Books, bucket, life_edges
from properties.bounds import allowed_error
from properties.contents import bits
from properties.histories import Histories
from properties.invariants.caches import element
from properties.invariants.run import checked, number, spread
from properties.lives import Admit, Deed, Fork, Life, Step, WarmUp
from properties.memory import Guarded
from properties.number_words import differ, plural
from properties.scenarios import SCENARIOS, public_bug
from properties.serving import Part, Room, Server, Span
from properties.tally import invariant
from properties.verdict import Tap, Violation

MOST_ROWS, MOST_REQUESTS = 128, 8  # of a forward
NEEDS = {
    "accepted drafts",
    "blocks let go",
    "cached tap",
    "chunk beside a decode",
    "chunk shorter than W",
    "dummy forward",
    "fork inside a block",
    "four streams",
    "graph captured",
    "graph replayed on refilled buffers",
    "padded rows",
    "recomputed",
    "recycled block",
    "rejected drafts",
    "shared prefix",
    "two chunks",
    "two layers",
}


@invariant("history", needs=NEEDS, edges=life_edges)
def life(ops: Any, case: Life) -> None:
    """At every step of a random life of a cache, outputs and all memory are what the full histories say."""
    __tracebackhide__ = True
    _live(Living(ops, "history.life", case), case)


@invariant("history", edges=life_edges)
def public_bugs(ops: Any, case: Life) -> None:
    """The lives in which publicly reported bugs 1 to 9 of this family showed go as the full histories say."""
    __tracebackhide__ = True
    try:
        _live(Living(ops, "history.public_bugs", case), case)
    except Violation as violation:
        if name := public_bug(case):
            number = list(SCENARIOS).index(name) + 1
            violation.let = ": ".join(filter(None, (f"public bug {number}, {name}", violation.let)))
        raise


def _live(living: Living, case: Life) -> None:
    __tracebackhide__ = True
    for step in case.steps:
        living.do(step)


class Living:
    """A life that goes on step by step, compared after each; `so_far` is the life up to now, as a case."""

    def __init__(self, ops: Any, property_name: str, case: Life) -> None:
        self.ops, self.property_name, self.so_far = ops, property_name, replace(case, steps=())
        self.books, self.histories = Books(case), Histories(case)
        ops.earlier = None  # a life must fail, or hold, by itself
        self.graphs: dict[int, Any] = {}  # by rows
        self.pool = ops.engine.pool()
        self.server = Server(
            ops,
            case.geometry,
            self.histories.weight,
            case.blocks,
            case.activation,
            case.use_residual,
            streams=case.streams,
            layers=case.layers,
            room=Room(MOST_ROWS, MOST_REQUESTS, case.columns),
            has_own_metadata=ops.offers("sconv_seq_metadata"),
        )

    def do(self, step: Deed) -> None:
        """Does one step. Raises the Violation that it leads to, and ValueError for a step that cannot be done."""
        __tracebackhide__ = True
        self.so_far = replace(self.so_far, steps=(*self.so_far.steps, step))
        self.books.apply(step)
        with self.ops.judging(self.property_name, self.so_far):
            self._carry_out(step)

    @singledispatchmethod
    def _carry_out(self, step: Deed) -> None:
        """What a step does beside the books: nothing, for most."""

    @_carry_out.register
    def _(self, step: Admit) -> None:
        self.histories.follow(self.books)

    @_carry_out.register
    def _(self, step: Fork) -> None:
        self.histories.follow(self.books, step.parent)
        if self.books.copied:
            self.server.copy_block(*self.books.copied)

    @_carry_out.register
    def _(self, step: Step) -> None:
        __tracebackhide__ = True
        x = self.histories.extend(self.books, self.books.spans)
        pads = bucket(len(x) + step.pads) - len(x) if step.is_replayed else step.pads
        self._forward(self.books.spans, x, self.histories.padding(pads), is_replayed=step.is_replayed)
        self.histories.forget_rejected(self.books)

    @_carry_out.register
    def _(self, step: WarmUp) -> None:
        __tracebackhide__ = True
        x = self.histories.padding(step.rows)
        # The first requests have a row each and the last the others, as far as there are rows.
        counts = [1] * min(step.requests, step.rows)
        if counts:
            counts[-1] += step.rows - len(counts)
        spans = [Span(-1, 0, count, ()) for count in counts]
        self._forward(spans, x[:0], x, has_slots=False)

    def _forward(
        self,
        spans: list[Span],
        x: torch.Tensor,
        padding: torch.Tensor,
        *,
        has_slots: bool = True,
        is_replayed: bool = False,
    ) -> None:
        """Runs one forward and compares; rows of `padding` have no slot, those of a dummy request's span among them."""
        __tracebackhide__ = True
        server, T = self.server, len(x) + len(padding)
        self.rows = T
        if T > MOST_ROWS or len(spans) > MOST_REQUESTS:
            raise ValueError(f"a forward has at most {MOST_ROWS} rows of {MOST_REQUESTS} requests: {spans}")
        server.fill(spans, torch.cat([x, padding]), has_slots=has_slots)
        self._compare_memory("seq_idx", "query_start")
        outs = self._replay(T) if is_replayed and not self.ops.engine.no_graphs else server.launch(T)
        server.expect_stores(T)
        self._compare_outputs(spans if has_slots else [], outs, padding)
        self._compare_memory(*server.guarded)

    def _replay(self, T: int) -> list[Any]:
        """Runs the first `T` rows by their graph; the first time it is captured, after an eager run that compiles.

        Running what is stored already once more stores the same: no tap of a forward is one of its own slots.
        """
        __tracebackhide__ = True
        if T not in self.graphs:
            self.server.launch(T)
            try:
                self.graphs[T] = self.ops.capture(partial(self.server.launch, T), self.pool)
            except Violation:
                self.graphs[T] = None  # what cannot be captured is told by the group about graphs
        if self.graphs[T] is None or not all(isinstance(out, torch.Tensor) for out in self.graphs[T].result):
            return self.server.launch(T)
        self.ops.replay(self.graphs[T])
        return [out.clone() for out in self.graphs[T].result]

    def _compare_outputs(self, spans: list[Span], outs: list[Any], padding: torch.Tensor) -> None:
        __tracebackhide__ = True
        case, guarded = self.so_far, self.server.guarded
        T = sum(span.count for span in spans) + len(padding)
        got = [
            checked(self.ops, out, guarded[f"x {index}"].view[:T], guarded, self.property_name, case)
            for index, out in enumerate(outs)
        ]
        out = torch.cat(got, dim=1)
        truth, magnitude = self.histories.truth(spans, padding)
        if case.contents == "exact" and case.activation is None:
            note, right = "", out == truth.to(out.dtype)
        else:
            x = torch.cat([guarded[f"x {index}"].view[:T].cpu() for index in range(len(outs))], dim=1).double()
            W = case.geometry.W
            allowed = allowed_error(truth, magnitude, x, W, out.dtype, case.activation, case.use_residual)
            allowed[T - len(padding) :] = 0
            note, right = " within its bound", (out.double() - truth).abs() <= allowed
        wrong = ~(right | (out.isnan() & truth.isnan()))
        if wrong.any():
            self._refuse_output(spans, out, truth.to(out.dtype), wrong, note)

    def _refuse_output(
        self, spans: list[Span], out: torch.Tensor, wanted: torch.Tensor, wrong: torch.Tensor, note: str
    ) -> NoReturn:
        __tracebackhide__ = True
        row, channel = (int(i) for i in wrong.nonzero()[0])
        part = next(part for part in self.server.parts if channel < part.channels.stop)
        channel -= part.channels.start
        where, let, taps = self._place(spans, row, part, channel)
        then = self._follows(where, taps)
        but = differ(int(wrong.sum()), wrong.numel(), "element", " of this step")
        step = self.so_far.steps[-1]
        graph = f"the graph of {plural(len(out), 'row')}" if isinstance(step, Step) and step.is_replayed else ""
        raise Violation(
            self.property_name,
            "out",
            where={**where, "channel": channel},
            got=number(out[row, part.channels][channel]),
            wanted=number(wanted[row, part.channels][channel]) + note,
            let=let,
            then=then,
            but=but,
            case=self.so_far,
            taps=taps,
            spread=spread(out, wanted, wrong, but),
        ).because(alone.output(self.ops.rerun, self.server, wrong, out, graph))

    def _follows(self, where: dict[str, object], taps: tuple[Tap, ...]) -> str:
        """What the contract makes of a row's taps, or of a row that has none."""
        case = self.so_far
        if taps:
            return explain.sum_words(where["position"], taps, case.activation, case.use_residual)
        return f"its output is {'its own x' if case.use_residual else '0'}"

    def _place(
        self, spans: list[Span], row: int, part: Part, channel: int
    ) -> tuple[dict[str, object], str, tuple[Tap, ...]]:
        """A row of this step: where it is, what its sequence is in words, where its taps come from."""
        case = self.so_far
        sizes = f"N = {case.geometry.N}, W = {case.geometry.W}"
        where: dict[str, object] = {"step": len(case.steps) - 1}
        if self.server.caches[1:]:
            where["layer"] = part.layer
        if case.kv:
            where["stream"] = self.server.parts.index(part) % len(case.streams)
        first = 0
        for span in spans:
            if row < first + span.count:
                position = span.start + row - first
                let = (
                    f"sequence {span.sequence} has {plural(span.start, 'token')} in the cache and "
                    f"{plural(span.count, 'new row')} ({explain.named_blocks(span.blocks)}), {sizes}"
                )
                taps = explain.taps(position, channel, span.start, first, part.geometry, span.blocks)
                return {**where, "sequence": span.sequence, "position": position}, let, taps
            first += span.count
        return {**where, "padding row": row}, f"row {row} has no slot, {sizes}", ()

    def _compare_memory(self, *names: str) -> None:
        """Every element of these buffers, red zones included, is what it should be; the cache to the last block."""
        __tracebackhide__ = True
        for name in names:
            guarded = self.server.guarded[name]
            if not torch.equal(bits(guarded.memory), bits(guarded.before)):
                self._refuse_memory(guarded)

    def _refuse_memory(self, guarded: Guarded) -> NoReturn:
        __tracebackhide__ = True
        changed = guarded.changed
        where = element(replace(guarded, name=""), int(changed[0]))
        place = where.get("element")
        if guarded.name == "cache" and isinstance(place, tuple):
            where = dict(zip(("block", "layer", "head", "offset", "d"), place, strict=True))
        found = Violation(
            self.property_name,
            guarded.name,
            where={"step": len(self.so_far.steps) - 1, **where},
            got=number(guarded.memory[changed[0]]),
            wanted=number(guarded.before[changed[0]]),
            let=step_words.about(self.server),
            then=step_words.owed(self.server, guarded.name, where),
            but=differ(len(changed), guarded.memory.numel(), "element", f" of {guarded.name} and around it"),
            case=self.so_far,
        )
        if guarded.name == "cache":
            first = int(changed[0])
            found.because(alone.memory(self.ops.rerun, self.server, self.rows, first, guarded.memory[first].clone()))
        raise found
