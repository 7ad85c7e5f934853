"""Alone: one forward of a server made again by itself, on a cache that holds what it held, to find a cause."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from properties import causes
from properties.calls import Rerun
from properties.causes import STATE, Run
from properties.contents import bits
from properties.explain import sum_words
from properties.recall import recalled
from properties.serving import Server
from properties.verdict import Violation


def output(rerun: Rerun, server: Server, wrong: torch.Tensor, out: torch.Tensor, graph: str = "") -> Any:
    """What finds the cause of the first wrong element of the last forward's outputs, `[T, channels of all parts]`.

    graph: in words, by which graph it was run, if by one.
    """
    return partial(_output, rerun=rerun, server=server, wrong=wrong, out=out, graph=graph)


def _output(
    violation: Violation, rerun: Rerun, server: Server, wrong: torch.Tensor, out: torch.Tensor, graph: str
) -> None:
    channel = int(wrong.nonzero()[0, 1])
    index = next(index for index, part in enumerate(server.parts) if channel < part.channels.stop)
    span = server.parts[index].channels
    otherwise = f"it goes wrong in {graph}, or {STATE}" if graph else STATE
    run = Run("this forward", server.twin(-1).call(index, len(out)), out[:, span], otherwise)
    causes.output(rerun, run, wrong[:, span])(violation)
    _recall(violation, server, len(server.log) - 1, index, run, int(wrong.nonzero()[0, 0]))


def _recall(violation: Violation, server: Server, which: int, index: int, run: Run, row: int) -> None:
    """Adds what else a row may have been made of, where the forward alone is right."""
    if STATE in violation.but and (words := recalled(server, which, index, run, row)):
        violation.found(words)


def memory(rerun: Rerun, server: Server, T: int, where: int, got: torch.Tensor) -> Any:
    """What finds out which stream's call left `got` in element `where` of the cache's memory, and what it is."""
    return partial(_memory, rerun=rerun, server=server, T=T, where=where, got=got)


def _memory(violation: Violation, rerun: Rerun, server: Server, T: int, where: int, got: torch.Tensor) -> None:
    twin = server.twin(-1)
    cache = twin.guarded["cache"]
    for index in range(len(twin.parts)):
        before = cache.memory[where].clone()
        rerun(twin.arguments(index, T))
        if bool(bits(cache.memory[where : where + 1]) != bits(before.view(1))):
            break  # the first that changes it, be it rightly: nobody else may
    else:
        index = _owner(server, where)
    causes.memory(rerun, server.twin(-1).call(index, T), where, got)(violation)
    if len(twin.parts) > 1:
        violation.found(f"of stream {index}")


def _owner(server: Server, where: int) -> int:
    """The part whose stream an element of the cache's memory belongs to, the first where to none."""
    view = server.guarded["cache"].view
    found = (
        torch.arange(server.guarded["cache"].memory.numel()).as_strided(
            view.shape, view.stride(), view.storage_offset()
        )
        == where
    ).nonzero()
    for index, part in enumerate(server.parts if len(found) else []):
        _, layer, _, _, d = (int(i) for i in found[0])
        if layer == part.layer and part.geometry.off_s <= d < part.geometry.off_s + part.geometry.ws:
            return index
    return 0


def of_position(
    rerun: Rerun, server: Server, truth: torch.Tensor, got: torch.Tensor, wrong: torch.Tensor, is_last: bool = True
) -> Callable[[Violation], None]:
    """What finds the cause of the first wrong position of one sequence, run in several forwards of a server.

    truth, got, wrong: `[positions, C]`; is_last: whether the last forward that computed the position gave `got`.
    """
    return partial(
        _position,
        rerun=rerun, server=server, truth=truth, got=got, wrong=wrong, is_last=is_last,
    )  # fmt: skip  # one line is enough


def _position(
    violation: Violation,
    rerun: Rerun,
    server: Server,
    truth: torch.Tensor,
    got: torch.Tensor,
    wrong: torch.Tensor,
    is_last: bool,
) -> None:
    position, channel = (int(i) for i in wrong.nonzero()[0])
    which = _forward_of(server, truth, position, is_last)
    if which is None:
        return
    span = server.log[which].spans[0]
    if stale := _wrong_before(server, which, truth):
        return violation.found(stale)
    T, first = len(server.log[which].x), span.start
    out, mask = torch.zeros(T, *got.shape[1:], dtype=got.dtype), torch.zeros(T, *got.shape[1:], dtype=torch.bool)
    rows = min(T, len(got) - first)
    out[:rows], mask[:rows] = got[first : first + rows], wrong[first : first + rows]
    call = server.twin(which).call(0, T)
    computed = f"forward {which} of this schedule computes position {first}" + (
        f" to {first + span.count - 1}" if span.count > 1 else ""
    )
    words = sum_words(position, call.meant(position - first, channel), *call.follows)
    violation.then = f"{computed}; {words}"
    run = Run("this forward", call, out)
    causes.output(rerun, run, mask)(violation)
    _recall(violation, server, which, 0, run, position - first)


def _forward_of(server: Server, truth: torch.Tensor, position: int, is_last: bool) -> int | None:
    """The forward of the log that computed a position of the sequence whose inputs are `truth`."""
    found = [
        index
        for index, filled in enumerate(server.log)
        for span in filled.spans[:1]
        if span.start <= position < span.start + span.count
        and torch.equal(bits(filled.x[position - span.start]), bits(truth[position]))
    ]
    return (found[-1] if is_last else found[0]) if found else None


def _wrong_before(server: Server, which: int, truth: torch.Tensor) -> str:
    """Which token of a forward's window was wrong in the cache before it, and by whose store; empty where none."""
    filled, geometry, part = server.log[which], server.parts[0].geometry, server.parts[0]
    span, view = filled.spans[0], server.guarded["cache"].view
    held = filled.cache.as_strided(view.shape, view.stride(), view.storage_offset())
    for position in range(max(0, span.start - geometry.W + 1), span.start):
        block, offset = span.blocks[position // geometry.N], position % geometry.N
        token = held[block, part.layer, :, offset, geometry.off_s : geometry.off_s + geometry.ws].flatten()
        if not torch.equal(bits(token), bits(truth[position].to(token.device))):
            earlier = _forward_of(server, truth, position, is_last=True) if which else None
            by = f"forward {earlier}, which computed it, has not stored it there" if earlier is not None else ""
            return (
                f"before forward {which}, which computes it, block {block} offset {offset} does not hold x of "
                f"position {position}: {by}"
            )
    return ""
