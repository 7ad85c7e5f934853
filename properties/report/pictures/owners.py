"""A call of the metadata operator: rows of its output buffers with what each must hold."""

from __future__ import annotations

from itertools import accumulate

from properties.cases import Metadata
from properties.number_words import plural
from properties.report.pictures.svg import Cell, Drawing, cell_width, gaps, left_out, shown
from properties.verdict import Violation

MOST_ROWS = 56


def owners(violation: Violation, case: Metadata) -> str:
    """The rows of the buffer that is wrong, by owner; padding and what must not be written follow."""
    is_first = violation.what == "query_start_out"
    lengths, padding = case.all_lengths, case.padding or 0
    starts = [0, *accumulate(lengths)]
    actual, total = starts[-1], starts[-1] + padding + case.slack
    holder = [index for index, length in enumerate(lengths) for _ in range(length)]
    told = violation.where.get("row")
    told = told if isinstance(told, int) else None
    drawing = Drawing(violation.headline, ". ".join(part for part in (violation.let, violation.then) if part))
    buffer = (
        "query_start_out: the first row of each row's request" if is_first else "seq_idx_out: the request of each row"
    )
    drawing.heading(
        f"{plural(len(lengths), 'request')}, {plural(actual, 'row')}, "
        f"{plural(padding, 'row')} of padding, {case.slack} beyond"
    )
    drawing.heading(f"what must be in {buffer}")
    drawing.heading("hatched: padding; dotted: stays as it is; beneath: the row", "small")
    rows = shown(total, [] if told is None else [told], MOST_ROWS)
    broken, cells = gaps(rows), []
    for row in rows:
        if row < actual:
            text, look = str(starts[holder[row]] if is_first else holder[row]), ("new", "cached")[holder[row] % 2]
        else:
            text, look = ("0", "padding hatched") if row < actual + padding else ("·", "stranger")
        cells.append(Cell(text, look, under=str(row), has_gap=row in broken, is_wrong=row == told, is_told=row == told))
    drawing.cells(cells, cell_width(cell.text for cell in cells))
    if more := left_out(total, len(rows), "row"):
        drawing.heading(more, "small")
    if told is not None and violation.wanted is not None:
        drawing.heading(f"row {told}: found {violation.got}, but should be {violation.wanted}", "bad")
    return drawing.finish()
