"""Cases of several forwards: their steps in order, the failing one marked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from properties.cases import Schedule
from properties.lives import Admit, Deed, Fork, Free, LetGo, Life, Preempt, Rows, Step, WarmUp
from properties.number_words import counted, plural
from properties.replays import Replays
from properties.report.pictures.svg import (
    INNER,
    MARGIN,
    Box,
    Cell,
    Drawing,
    cell_width,
    gaps,
    left_out,
    shown,
    wrapped,
)
from properties.verdict import Violation

MOST_STEPS, MOST_TOKENS = 24, 42
ACROSS, LETTERS = 3, 19  # boxes side by side, and characters that fit into one


def life(violation: Violation, case: Life) -> str:
    """The steps of a life; its case ends with the step that fails, where the violation names none."""
    told = violation.where.get("step", violation.step)
    last = len(case.steps) - 1
    return _steps(violation, [_words(step) for step in case.steps], told if isinstance(told, int) else last)


def replays(violation: Violation, case: Replays) -> str:
    """What is captured, then the forwards that are replayed."""
    held = "padding alone" if case.dummy == "pad" else "forward 0"
    buckets = sorted({case.rows, *map(case.bucket, range(len(case.forwards)))}, reverse=True)
    captures = [("capture", [plural(rows, "row"), f"holds {held}"]) for rows in buckets]
    forwards = [
        (
            f"replay {index}",
            [f"{plural(one.rows, 'row')} of {len(one.requests)}", f"in {plural(case.bucket(index), 'row')}"],
        )
        for index, one in enumerate(case.forwards)
    ]
    told = None if violation.step is None else violation.step + len(captures)
    return _steps(violation, [*captures, *forwards], told)


def schedule(violation: Violation, case: Schedule) -> str:
    """The tokens of a sequence, chunk by chunk."""
    drawing = _drawing(violation)
    told = violation.where.get("position")
    told = told if isinstance(told, int) else None
    chunks = [index for index, cut in enumerate(case.cuts) for _ in range(cut)]
    positions = shown(len(chunks), [] if told is None else [told], MOST_TOKENS)
    drawing.heading(f"one sequence of {plural(case.length, 'row')} in {plural(len(case.cuts), 'chunk')}: {_cuts(case)}")
    drawing.heading("beneath each position the number of its chunk", "small")
    broken = gaps(positions)
    looks = ("new", "cached")
    cells = [
        Cell(
            f"p{at}",
            looks[chunks[at] % 2],
            str(chunks[at]),
            has_gap=at in broken,
            is_wrong=at == told,
            is_told=at == told,
        )
        for at in positions
    ]
    drawing.cells(cells, cell_width((cell.text for cell in cells), least=24.0))
    if more := left_out(len(chunks), len(positions), "position"):
        drawing.heading(more, "small")
    return drawing.finish()


def _cuts(case: Schedule) -> str:
    more = f", … {len(case.cuts) - 12} more" if len(case.cuts) > 12 else ""
    return ", ".join(map(str, case.cuts[:12])) + more


def _drawing(violation: Violation) -> Drawing:
    parts = (violation.let, violation.then, violation.but)
    return Drawing(violation.headline, ". ".join(part for part in parts if part))


def _steps(violation: Violation, steps: Sequence[tuple[str, list[str]]], told: int | None) -> str:
    """Boxes in the order of the steps, three to a line, each with its number, its name and its details."""
    drawing = _drawing(violation)
    drawing.heading(plural(len(steps), "step"))
    indices = shown(len(steps), [] if told is None else [told], MOST_STEPS)
    width = INNER / ACROSS
    for begin in range(0, len(indices), ACROSS):
        line = indices[begin : begin + ACROSS]
        height = 20 + 11 * max(len(_details(steps[index])) for index in line)
        for place, index in enumerate(line):
            box = Box(MARGIN + place * width, drawing.y, width - 8, height)
            _step(drawing, box, index, steps[index], is_told=index == told)
            if place:
                drawing.words(box.x - 4, drawing.y + 14, "…" if index in gaps(indices) else "→", "cell", "middle")
        drawing.y += height + 8
    if more := left_out(len(steps), len(indices), "step"):
        drawing.heading(more, "small")
    return drawing.finish()


def _details(step: tuple[str, list[str]]) -> list[str]:
    return [line for detail in step[1] for line in wrapped(detail, LETTERS)][:6]


def _step(drawing: Drawing, box: Box, index: int, step: tuple[str, list[str]], *, is_told: bool) -> None:
    drawing.box(box, "step told" if is_told else "step", radius=5)
    drawing.words(box.x + 6, box.y + 13, f"{index}  {step[0]}", "step")
    for number, detail in enumerate(_details(step)):
        drawing.words(box.x + 6, box.y + 25 + 11 * number, detail, "tiny")
    if is_told:
        drawing.cross(box)


@singledispatch
def _words(step: Deed) -> tuple[str, list[str]]:
    """A step's name and its details."""
    raise TypeError(f"no step: {step!r}")


@_words.register
def _(step: Admit) -> tuple[str, list[str]]:
    return "admit", ["inputs are NaN"] if step.is_poisoned else []


@_words.register
def _(step: Fork) -> tuple[str, list[str]]:
    return "fork", [f"seq {step.parent}, first {step.positions}"]


@_words.register
def _(step: Step) -> tuple[str, list[str]]:
    parts = [_rows(rows) for rows in step.work]
    parts += [f"{step.pads} of padding"] if step.pads else []
    return "step, replayed" if step.is_replayed else "step", parts or ["no rows"]


def _rows(rows: Rows) -> str:
    back = f", {rows.rejected} back" if rows.rejected else ""
    return f"seq {rows.sequence}: {rows.count}{back}"


@_words.register
def _(step: WarmUp) -> tuple[str, list[str]]:
    return "warm-up", [counted(step.rows, "row"), counted(step.requests, "request")]


@_words.register(LetGo)
@_words.register(Preempt)
@_words.register(Free)
def _(step: LetGo | Preempt | Free) -> tuple[str, list[str]]:
    name = {"LetGo": "let blocks go", "Preempt": "preempt", "Free": "end"}[type(step).__name__]
    return name, [f"seq {step.sequence}"]
