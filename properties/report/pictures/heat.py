"""A heat map of the errors, rows by channels: the larger the error, the larger and the hotter its square."""

from __future__ import annotations

import math

from properties.number_words import plural
from properties.report.pictures.svg import INNER, MARGIN, Box, Drawing, gaps, left_out, shown
from properties.verdict import Spread, Violation

MOST_ROWS, MOST_CHANNELS = 24, 48  # of a picture
LABEL = 34.0  # units that the numbers of the rows take
GAP = 2.0  # units between rows or channels that do not follow one another
BANDS = (1.0, 8.0, 128.0, 2.0**15, math.inf)  # a band ends with so many ulps; the last also holds NaN and infinity
NAMES = ("up to 1 ulp", "up to 8", "up to 128", "up to 32,768", "more, NaN or infinite")


def heat(violation: Violation, spread: Spread) -> str:
    """The picture of which elements of an output differ, and by how many units in the last place."""
    drawing = Drawing(f"Errors in units in the last place: {spread.words}", _description(spread))
    drawing.heading(f"errors in ulps, {plural(spread.rows, 'row')} by {plural(spread.channels, 'channel')}")
    rows = shown(spread.rows, [row for row, _, _ in spread.elements], MOST_ROWS)
    channels = shown(spread.channels, [channel for _, channel, _ in spread.elements], MOST_CHANNELS)
    broken = gaps(channels)
    size = min(20.0, (INNER - LABEL - GAP * len(broken)) / len(channels))
    left, at = MARGIN + LABEL, {}
    for channel in channels:
        left += GAP if channel in broken else 0.0
        at[channel] = left
        left += size
    _channel_numbers(drawing, channels, at, size, {channel for _, channel, _ in spread.elements})
    _rows(drawing, spread, rows, at, size)
    for more in (left_out(spread.rows, len(rows), "row"), left_out(spread.channels, len(channels), "channel")):
        if more:
            drawing.heading(more, "small")
    if spread.count > len(spread.elements):
        drawing.heading(f"marked are the first {len(spread.elements):,} of {spread.count:,} that differ", "small")
    _scale(drawing)
    return drawing.finish()


def band(ulps: float) -> int:
    """Which of the five bands an error belongs to; NaN to the last."""
    return next((index for index, most in enumerate(BANDS) if abs(ulps) <= most), len(BANDS) - 1)


def _channel_numbers(drawing: Drawing, channels: list[int], at: dict[int, float], size: float, wrong: set[int]) -> None:
    for channel in numbered({one: (at[one] + size / 2, 2.8 * len(str(one)) + 1.5) for one in channels}, wrong):
        drawing.words(at[channel] + size / 2, drawing.y + 8, str(channel), "tiny", "middle")
    drawing.y += 12


def numbered(places: dict[int, tuple[float, float]], wrong: set[int]) -> list[int]:
    """Which rows or channels get their number: all that have room, by middle and half a width; wrong ones first."""
    taken: list[tuple[float, float]] = []
    chosen = []
    for one, (middle, half) in sorted(places.items(), key=lambda place: place[0] not in wrong):
        if all(abs(middle - other) >= half + its for other, its in taken):
            taken.append((middle, half))
            chosen.append(one)
    return chosen


def _rows(drawing: Drawing, spread: Spread, rows: list[int], at: dict[int, float], size: float) -> None:
    marks: dict[int, list[str]] = {}
    errors = {(row, channel): ulps for row, channel, ulps in spread.elements}
    broken, grid, middles = gaps(rows), [], {}
    for row in rows:
        drawing.y += GAP if row in broken else 0.0
        middles[row] = (drawing.y + size / 2, 4.0)
        for channel, x in at.items():
            grid.append(_square(x + 0.5, drawing.y + 0.5, size - 1))
            if (ulps := errors.get((row, channel))) is not None:
                marks.setdefault(band(ulps), []).append(_mark(x, drawing.y, size, band(ulps)))
        drawing.y += size
    for row in numbered(middles, {row for row, _ in errors}):
        drawing.words(MARGIN + LABEL - 5, middles[row][0] + 3, str(row), "tiny", "end")
    drawing.path("".join(grid), "grid")
    for index, parts in sorted(marks.items()):
        drawing.path("".join(parts), f"heat heat-{index}")
    drawing.y += 4


def _mark(x: float, y: float, size: float, index: int) -> str:
    """A square whose side says the band, so that the map is read without colours."""
    side = (size - 1) * (0.4 + 0.15 * index)
    return _square(x + (size - side) / 2, y + (size - side) / 2, side)


def _square(x: float, y: float, side: float) -> str:
    return f"M{x:.4g} {y:.5g}h{side:.3g}v{side:.3g}h{-side:.3g}z"


def _scale(drawing: Drawing) -> None:
    """What the squares mean."""
    drawing.y += 6
    left = MARGIN
    for index, name in enumerate(NAMES):
        width = 18 + 5.1 * len(name) + 8
        if left + width > MARGIN + INNER:
            left, drawing.y = MARGIN, drawing.y + 15
        drawing.box(Box(left, drawing.y, 12, 12), "frame", radius=0)
        drawing.path(_mark(left - 0.5, drawing.y - 0.5, 13, index), f"heat heat-{index}")
        drawing.words(left + 17, drawing.y + 9.5, name, "tiny")
        left += width
    drawing.y += 14


def _description(spread: Spread) -> str:
    first = ", ".join(f"row {row} channel {channel} by {ulps:g} ulp" for row, channel, ulps in spread.elements[:8])
    return f"{spread.words}. First of them: {first}."
