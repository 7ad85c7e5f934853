"""Reducing: ever smaller lives that still violate a property.

A life is reduced as the list of steps that it is: Hypothesis, which shrinks the choices behind it, needs several times
as many forwards and stops at longer ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from properties.books import life_edges
from properties.cases import Geometry
from properties.lives import Admit, Deed, Fork, Free, LetGo, Life, Preempt, Rows, Step, WarmUp


def reduced(case: Life, fails: Callable[[Life], Life | None]) -> Life:
    """The smallest life found; `fails` gives the part of a life up to where it fails, None where it does not.

    Whatever ends the search (time, a count of tries) is raised by `fails`, which knows the last life that failed.
    """
    tried = {case}
    while True:
        for candidate in smaller(case):
            if candidate in tried or not _is_possible(candidate):
                continue
            tried.add(candidate)
            if (failing := fails(candidate)) is not None:
                case = failing
                break
        else:
            return case


def _is_possible(case: Life) -> bool:
    try:
        life_edges(case)
    except ValueError:
        return False
    return True


def smaller(case: Life) -> Iterator[Life]:
    """Lives that are smaller in one respect, the most promising first; some may not be possible."""
    count = len(case.steps)
    if count > 4:
        for size in (count // 2, count // 4):
            for begin in range(0, count - size, size):
                yield replace(case, steps=_without(case.steps, range(begin, begin + size)))
    yield from _in_simpler_caches(case)
    for index in reversed(range(count)):
        yield replace(case, steps=_without(case.steps, range(index, index + 1)))
    for pads in (lambda one: one.pads // 2, lambda one: one.pads - 1):  # of all forwards at once: T may matter
        yield replace(case, steps=tuple(_with_pads(step, pads) for step in case.steps))
    for index in reversed(range(count)):
        for simpler in _simpler(case.steps[index]):
            yield replace(case, steps=(*case.steps[:index], simpler, *case.steps[index + 1 :]))


def _in_simpler_caches(case: Life) -> Iterator[Life]:
    geometry, default = case.geometry, Life()
    one_stream = replace(case, kv=0, layers=1)
    for smallest in (Geometry(W=2), Geometry(N=4, W=4), Geometry(H=2, ws=2, N=4, W=4, D=2)):
        other = replace(smallest, dtype=geometry.dtype)
        if (other.C, other.W, other.N) < (geometry.C, geometry.W, geometry.N):
            yield replace(one_stream, geometry=other)
    changes: tuple[dict[str, object], ...] = (
        {"kv": 0, "layers": 1}, {"kv": 0}, {"layers": 1}, {"contents": default.contents, "activation": None},
        {"activation": None}, {"use_residual": True}, {"block_seed": 0}, {"seed": 0},
        {"blocks": default.blocks},
    )  # fmt: skip  # a list reads better in rows
    for change in changes:
        if any(getattr(case, name) != value for name, value in change.items()):
            yield replace(case, **change)  # type: ignore[arg-type]  # fields by name


def _without(steps: tuple[Deed, ...], dropped: range) -> tuple[Deed, ...]:
    """The steps without some, and without what others do with a sequence that one of those began."""
    born = [sum(isinstance(one, Admit | Fork) for one in steps[:index]) for index in dropped]
    gone = [number for index, number in zip(dropped, born, strict=True) if isinstance(steps[index], Admit | Fork)]
    kept = [step for index, step in enumerate(steps) if index not in dropped]
    for number in reversed(gone):
        kept = [other for step in kept if (other := _without_sequence(step, number)) is not None]
    return tuple(kept)


def _without_sequence(step: Deed, gone: int) -> Deed | None:
    def number(sequence: int) -> int:
        return sequence - (sequence > gone)

    if isinstance(step, Step):
        work = tuple(replace(one, sequence=number(one.sequence)) for one in step.work if one.sequence != gone)
        return replace(step, work=work) if work or step.pads else None
    if isinstance(step, Fork):
        return Admit() if step.parent == gone else replace(step, parent=number(step.parent))
    if isinstance(step, LetGo | Preempt | Free):
        return None if step.sequence == gone else replace(step, sequence=number(step.sequence))
    return step


def _with_pads(step: Deed, pads: Callable[[Step], int]) -> Deed:
    return replace(step, pads=pads(step)) if isinstance(step, Step) and step.pads else step


def _simpler(step: Deed) -> Iterator[Deed]:
    if isinstance(step, Step):
        if step.is_replayed:
            yield replace(step, is_replayed=False)
        if step.pads:
            yield replace(step, pads=0)
            yield replace(step, pads=1)
        for index, one in enumerate(step.work):
            before, after = step.work[:index], step.work[index + 1 :]
            if before or after:
                yield replace(step, work=(*before, *after))
            for simpler in _simpler_rows(one):
                smaller = replace(step, work=(*before, simpler, *after))
                yield smaller
                yield replace(smaller, pads=step.pads + one.count - simpler.count)
    elif isinstance(step, WarmUp):
        yield WarmUp()
        yield WarmUp(step.rows)
    elif isinstance(step, Fork):
        yield Admit()
        yield replace(step, positions=step.positions - 1)
    elif isinstance(step, Admit):
        yield Admit()


def _simpler_rows(rows: Rows) -> Iterator[Rows]:
    for count in (1, rows.count // 2, rows.count - 1):
        if 0 < count < rows.count:
            yield replace(rows, count=count, rejected=max(0, rows.rejected - rows.count + count))
    if rows.rejected:
        yield replace(rows, rejected=0)
        yield replace(rows, rejected=rows.rejected - 1)
