"""A forward: requests as rows of tokens, the taps of the wrong element, cache blocks as cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from properties.cases import Forward
from properties.explain import owner
from properties.number_words import plural
from properties.paging import Placement, place
from properties.report.pictures.svg import (
    CELL_HEIGHT,
    GAP,
    INNER,
    MARGIN,
    WIDTH,
    Box,
    Cell,
    Drawing,
    cell_width,
    gaps,
    left_out,
    shown,
)
from properties.report.pictures.taps import agrees, came_words, status
from properties.verdict import Source, Tap, Violation

MOST_REQUESTS, MOST_ROWS, MOST_BLOCKS = 8, 20, 12  # of a picture
Cells = dict[tuple[int, int], tuple[str, str]]  # block, offset -> text and look


@dataclass
class _Scene:
    """What the parts of one picture share: where every row of x and every cell of the cache was drawn."""

    violation: Violation
    case: Forward
    drawing: Drawing
    placement: Placement
    told: int | None  # the row of the element that the violation names
    wrong: set[int]  # rows with wrong elements
    rows: dict[int, Box] = field(default_factory=dict)
    cells: dict[tuple[int, int], Box] = field(default_factory=dict)

    @property
    def sources(self) -> list[Source]:
        """Every place that a tap is meant to come from, or came from."""
        return [one for tap in self.violation.taps for one in (tap.meant, tap.came) if one is not None]


def forward(violation: Violation, case: Forward) -> str:
    """The picture of a violation whose case is one forward."""
    told = told_row(violation, case)
    wrong = {row for row, _, _ in violation.spread.elements} if violation.spread else set()
    wrong |= set() if told is None else {told}
    scene = _Scene(violation, case, Drawing(violation.headline, _description(violation)), place(case), told, wrong)
    _requests(scene)
    strip = _taps(scene) if violation.taps else []
    _blocks(scene)
    for tap, box in zip(violation.taps, strip, strict=False):
        _arrows(scene, tap, box)
    return scene.drawing.finish()


def told_row(violation: Violation, case: Forward) -> int | None:
    """The row of the element that a violation names, None where it names none of a forward's output."""
    where = violation.where
    row: object = where.get("padding row", where.get("row"))
    if isinstance(request := where.get("request"), int) and isinstance(position := where.get("position"), int):
        if not 0 <= request < len(case.requests):
            return None
        row = case.first_rows[request] + position - case.requests[request].start
    return row if isinstance(row, int) and 0 <= row < case.T else None


def _description(violation: Violation) -> str:
    """The picture in words, for who does not see it."""
    taps = "; ".join(f"tap {tap.index}: {came_words(tap)}" for tap in violation.taps)
    return ". ".join(part for part in (violation.let, violation.then, violation.but, taps) if part)


# Requests -------------------------------------------------------------------------------------------------------------


def _requests(scene: _Scene) -> None:
    case, drawing = scene.case, scene.drawing
    rows = [*([] if scene.told is None else [scene.told]), *(s.row for s in scene.sources if s.row is not None)]
    busy = [index for row in (*rows, *sorted(scene.wrong)) if (index := owner(case, row)) is not None]
    indices = shown(len(case.requests), busy, MOST_REQUESTS)
    sources = {owner(case, row) for row in rows} if scene.violation.taps else set()
    for index in sorted(indices, key=lambda one: one in sources):  # arrows cross no other request's tokens
        _request(scene, index, rows)
    if more := left_out(len(case.requests), len(indices), "request"):
        drawing.heading(more, "small")
    if case.pads:
        drawing.heading(f"padding: {plural(case.pads, 'row')} without a slot")
        _tokens(scene, range(case.rows, case.T), [], rows)


def _request(scene: _Scene, index: int, rows: list[int]) -> None:
    request, first = scene.case.requests[index], scene.case.first_rows[index]
    context = min(request.start, scene.case.geometry.W - 1) if request.length else 0
    seen = f" (last {context} shown)" if 0 < context < request.start else ""
    scene.drawing.heading(f"request {index}: {request.start:,} cached{seen}, {plural(request.length, 'new row')}")
    cached = [Cell(f"p{position}", "cached") for position in range(request.start - context, request.start)]
    _tokens(scene, range(first, first + request.length), cached, rows)


def _tokens(scene: _Scene, span: range, cached: list[Cell], rows: Iterable[int]) -> None:
    """One request's tokens: those of its window in the cache, then its new rows."""
    case = scene.case
    wanted = [row - span.start for row in (*rows, *sorted(scene.wrong)) if row in span]
    chosen = [span.start + at for at in shown(len(span), wanted, MOST_ROWS)]
    broken = gaps(chosen)
    new = [
        Cell(
            f"x{row}",
            "padding hatched" if row >= case.rows or row in case.holes else "new",
            has_gap=row in broken,
            is_wrong=row in scene.wrong,
            is_told=row == scene.told,
        )
        for row in chosen
    ]
    if not (cached or new):
        return
    boxes = scene.drawing.cells([*cached, *new], cell_width(cell.text for cell in (*cached, *new)))
    scene.rows.update(zip(chosen, boxes[len(cached) :], strict=True))
    if more := left_out(len(span), len(chosen), "row"):
        scene.drawing.heading(more, "small")
    scene.drawing.y += 6


# Taps -----------------------------------------------------------------------------------------------------------------


def _taps(scene: _Scene) -> list[Box]:
    """A box for each tap of the wrong element, between the rows of x above and the cache below."""
    drawing, taps = scene.drawing, scene.violation.taps
    drawing.y += 26  # for arrows
    width = min(60.0, INNER / len(taps))
    left = MARGIN + (INNER - width * len(taps)) / 2
    boxes = []
    for place_, tap in enumerate(taps):
        box = Box(left + place_ * width, drawing.y, width - 4, 32)
        word, look = status(tap)
        drawing.box(box, f"tap {look}", radius=5)
        drawing.words(box.middle, box.y + 13, f"tap {tap.index}", "cell", "middle")
        drawing.words(box.middle, box.y + 26, word, f"tiny {look}", "middle")
        boxes.append(box)
    drawing.y += 32 + 26
    return boxes


def _arrows(scene: _Scene, tap: Tap, box: Box) -> None:
    """A dashed arrow from where a tap was meant to come, a solid one from where it came, or one where both agree."""
    if agrees(tap):
        _arrow(scene, tap.meant, box, 0.0, "right")
        return
    _arrow(scene, tap.meant, box, -7.0 if tap.came else 0.0, "meant")
    if tap.came is not None:
        _arrow(scene, tap.came, box, 7.0, "came")


def _arrow(scene: _Scene, source: Source, box: Box, shift: float, look: str) -> None:
    start = scene.rows.get(source.row if source.row is not None else -1) if source.kind == "x" else None
    if start is not None:
        scene.drawing.arrow(start.middle, start.bottom, box.middle + shift, box.y, look)
    elif source.kind == "cache" and (cell := scene.cells.get((source.block or 0, source.offset or 0))):
        scene.drawing.arrow(cell.middle, cell.y, box.middle + shift, box.bottom, look)


# Cache ----------------------------------------------------------------------------------------------------------------


def _blocks(scene: _Scene) -> None:
    """The blocks that matter, as many side by side as fit; their other cells are strangers'."""
    drawing, N = scene.drawing, scene.case.geometry.N
    held = _held(scene.case, scene.placement)
    named = [(s.block, s.offset or 0) for s in scene.sources if s.kind == "cache" and s.block is not None]
    block, offset = scene.violation.where.get("block"), scene.violation.where.get("offset")
    spot = (block, offset) if isinstance(block, int) and isinstance(offset, int) else None
    named += [spot] if spot else []
    inside = [one for one, _ in named if 0 <= one < scene.placement.num_blocks]
    chosen = shown(scene.placement.num_blocks, [*inside, *_own_blocks(scene)], MOST_BLOCKS)
    used = {*inside, *(one for one, _ in held)}
    chosen = [one for one in chosen if one in used] or chosen[:1]
    chosen.sort(key=lambda one: one not in inside)  # those that arrows come from lie next to the taps
    outside = sorted({one for one, _ in named} - set(inside))
    width = cell_width([held.get((one, at), ("", ""))[0] for one in chosen for at in range(min(N, 64))])
    more = left_out(scene.placement.num_blocks, len(chosen), "block").removeprefix("… ")
    title = f"cache: {plural(scene.placement.num_blocks, 'block')} of {plural(N, 'token')}"
    title += f"; {more} not shown" if more else ""
    if not scene.violation.taps:  # else beneath, where no arrow passes
        drawing.heading(title)
    left, top, lowest = MARGIN, drawing.y, drawing.y
    for one in [*chosen, *outside]:
        filled = sorted((at for other, at in held if other == one), key=lambda at: held[one, at][1] != "cached")
        offsets = _offsets(N, [*(at for other, at in named if other == one), *filled], width)
        span = max(_span(N, offsets, width), LETTER_OF_LABEL * len(_label(one, outside)))
        if left + span > WIDTH - MARGIN and left > MARGIN:
            left, top = MARGIN, lowest + 6
        drawing.y = top
        _block(scene, one, offsets, held, left, width, _label(one, outside), spot)
        lowest = max(lowest, drawing.y)
        left += span + 10
    drawing.y = lowest
    if scene.violation.taps:
        drawing.heading(title)


def _offsets(N: int, wanted: list[int], width: float) -> list[int]:
    """As many offsets of a block as one line holds, those that are wanted before others."""
    most = max(1, int(INNER / width))
    return next(
        (offsets for count in range(most, 1, -1) if _span(N, offsets := shown(N, wanted, count), width) <= INNER),
        shown(N, wanted, 1),
    )


def _span(N: int, offsets: list[int], width: float) -> float:
    """How wide a block of these cells is, with what stands for those left out."""
    return width * len(offsets) + GAP * (len(gaps(offsets)) + (offsets[-1] < N - 1))


LETTER_OF_LABEL = 5.6  # width of a character of a block's label


def _label(block: int, outside: list[int]) -> str:
    return f"block {block}, outside the cache" if block in outside else f"block {block}"


def _block(
    scene: _Scene,
    block: int,
    offsets: list[int],
    held: Cells,
    left: float,
    width: float,
    label: str,
    spot: tuple[int, int] | None,
) -> None:
    drawing = scene.drawing
    broken, cells = gaps(offsets), []
    for at in offsets:
        text, look = held.get((block, at), ("", "stranger"))
        cells.append(
            Cell(
                text,
                look,
                under=str(at),
                has_gap=at in broken,
                is_wrong=(block, at) == spot,
                is_told=(block, at) == spot,
            )
        )
    boxes = drawing.cells(cells, width, left)
    if offsets[-1] < scene.case.geometry.N - 1:
        drawing.words(boxes[-1].x + width + GAP / 2, boxes[-1].y + CELL_HEIGHT / 2 + 3, "…", "small", "middle")
    drawing.words(left, drawing.y + 10, label, "small")  # beneath: arrows leave the cells upwards
    drawing.y += 16
    scene.cells.update(zip([(block, at) for at in offsets], boxes, strict=True))


def _held(case: Forward, placement: Placement) -> Cells:
    """What the case has in the cache: positions of windows, and the rows that are stored."""
    found: Cells = {}
    for index, (request, first) in enumerate(zip(case.requests, case.first_rows, strict=True)):
        if not request.length:
            continue
        for position in range(max(0, request.start - (case.geometry.W - 1)), request.start + request.length):
            cell = divmod(placement.slot(index, position), case.geometry.N)
            row = first + position - request.start
            if position < request.start:
                found.setdefault(cell, (f"p{position}", "cached"))
            elif row not in case.holes:
                found[cell] = (f"x{row}", "new")
    return found


def _own_blocks(scene: _Scene) -> list[int]:
    """The blocks of the request that the violation is about, then those of the others."""
    mine = None if scene.told is None else owner(scene.case, scene.told)
    order = sorted(range(len(scene.placement.blocks)), key=lambda index: index != mine)
    return [block for index in order for block in scene.placement.blocks[index].values()]
