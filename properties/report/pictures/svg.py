"""SVG, element by element: cells, words and arrows, 360 units wide so that a phone shows them unscaled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from xml.etree import ElementTree

from properties.number_words import counted

WIDTH = 360.0
MARGIN = 8.0
INNER = WIDTH - 2 * MARGIN
LETTER = 6.2  # width of a character of a cell's text, on average
_NAMES = count()  # ids must differ within a page


@dataclass(frozen=True)
class Box:
    """A rectangle of a picture, in its units."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """Its middle from left to right."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height


@dataclass(frozen=True)
class Cell:
    """A cell of a row: its text, its look, a tiny text beneath, and whether something is left out before it."""

    text: str
    look: str
    under: str = ""
    has_gap: bool = False
    is_wrong: bool = False
    is_told: bool = False  # the very one that the violation names


CELL_HEIGHT = 20.0
GAP = 12.0  # width of what stands for cells left out


class Drawing:
    """A picture that grows downwards; arrows lie between boxes and words, whenever they are drawn."""

    def __init__(self, title: str, description: str) -> None:
        name = f"picture-{next(_NAMES)}"
        self.root = ElementTree.Element(
            "svg", {"role": "img", "aria-labelledby": f"{name}-title {name}-description", "class": "picture"}
        )
        self._add(self.root, "title", {"id": f"{name}-title"}).text = title
        self._add(self.root, "desc", {"id": f"{name}-description"}).text = description
        self._boxes, self._arrows, self._words = (self._add(self.root, "g", {}) for _ in range(3))
        self.y = MARGIN

    def finish(self) -> str:
        """The picture as an element of a page."""
        self.root.set("viewBox", f"0 0 {WIDTH:g} {self.y + MARGIN:g}")
        return ElementTree.tostring(self.root, encoding="unicode")

    def box(self, box: Box, look: str, radius: float = 2) -> None:
        """A rectangle."""
        at = {"x": box.x, "y": box.y, "width": box.width, "height": box.height, "rx": radius}
        self._add(self._boxes, "rect", {"class": look, **{name: f"{value:g}" for name, value in at.items()}})

    def words(self, x: float, y: float, text: str, look: str = "words", anchor: str = "start") -> None:
        """A line of text whose baseline is at `y`."""
        place = {"class": look, "x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor}
        self._add(self._words, "text", place).text = text

    def heading(self, text: str, look: str = "words") -> None:
        """Words over the whole width, on lines of their own."""
        for line in wrapped(text, int(INNER / 5.9)):
            self.y += 13
            self.words(MARGIN, self.y, line, look)
        self.y += 7  # room for the cross of what stands beneath

    def cell(self, box: Box, text: str, look: str) -> None:
        """A box with a short text; one that is hatched says that nothing is stored, whatever its colour."""
        self.box(box, look)
        if "hatched" in look.split():
            step = 6.0
            lines = " ".join(
                f"M{box.x + max(0.0, at - box.height):g} {box.y + min(at, box.height):g}"
                f"L{box.x + min(at, box.width):g} {box.y + max(0.0, at - box.width):g}"
                for at in _steps(step, box.width + box.height, step)
            )
            self.path(lines, "hatch")
        self.words(box.middle, box.y + box.height / 2 + 3.5, text, "cell", "middle")

    def cells(self, cells: Sequence[Cell], width: float, x: float = MARGIN) -> list[Box]:
        """Cells one after another from `x` on, in as many lines as they need; where each of them is."""
        boxes, left = [], x
        height = CELL_HEIGHT + (12 if any(cell.under for cell in cells) else 0)
        for cell in cells:
            gap = GAP if cell.has_gap else 0.0
            if left + gap + width > WIDTH - MARGIN + 0.1 and left > x:
                left, self.y = x, self.y + height + 3
            if gap:
                self.words(left + gap / 2, self.y + CELL_HEIGHT / 2 + 3, "…", "small", "middle")
            box = Box(left + gap, self.y, width - 1.5, CELL_HEIGHT)
            self.cell(box, cell.text, f"{cell.look} told" if cell.is_told else cell.look)
            if cell.under:
                self.words(box.middle, box.bottom + 8, cell.under, "tiny", "middle")
            if cell.is_wrong:
                self.cross(box)
            boxes.append(box)
            left += gap + width
        self.y += height
        return boxes

    def cross(self, box: Box) -> None:
        """Marks a box as wrong, by an outline and a cross at its upper right corner."""
        self.box(box, "wrong")
        x, y = box.x + box.width - 1, box.y + 1
        self._add(self._words, "circle", {"class": "badge", "cx": f"{x:g}", "cy": f"{y:g}", "r": "5.5"})
        d = f"M{x - 2.5:g} {y - 2.5:g}l5 5m0 -5l-5 5"
        self._add(self._words, "path", {"class": "badge-cross", "d": d})

    def path(self, d: str, look: str, *, is_over: bool = False) -> None:
        """A path beneath the words, or beneath nothing."""
        self._add(self._words if is_over else self._boxes, "path", {"class": look, "d": d})

    def arrow(self, x: float, y: float, to_x: float, to_y: float, look: str) -> None:
        """A bent line that leaves and arrives vertically, with a head."""
        down = 1 if to_y > y else -1
        bend = max(12.0, abs(to_y - y) / 2)
        end = to_y - 6 * down
        d = f"M{x:g} {y:g}C{x:g} {y + bend * down:g} {to_x:g} {end - bend * down:g} {to_x:g} {end:g}"
        self._add(self._arrows, "path", {"class": f"arrow {look}", "d": d})
        head = f"{to_x:g},{to_y:g} {to_x - 3.5:g},{end:g} {to_x + 3.5:g},{end:g}"
        self._add(self._arrows, "polygon", {"class": f"head {look}", "points": head})

    @staticmethod
    def _add(parent: ElementTree.Element, tag: str, attributes: dict[str, str]) -> ElementTree.Element:
        return ElementTree.SubElement(parent, tag, attributes)


def _steps(start: float, stop: float, step: float) -> Iterable[float]:
    while start < stop:
        yield start
        start += step


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of at most so many characters, cut between words; an overlong word is cut short."""
    lines: list[str] = [""]
    for word in text.split():
        short = word if len(word) <= width else word[: width - 1] + "…"
        if lines[-1] and len(lines[-1]) + 1 + len(short) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {short}".strip()
    return lines


def cell_width(labels: Iterable[str], least: float = 24.0) -> float:
    """How wide cells must be for the longest of their texts."""
    return max([least, *(LETTER * len(label) + 7 for label in labels)])


def shown(total: int, wanted: Iterable[int], limit: int) -> list[int]:
    """Which of `total` things a picture shows: all that fit; else the wanted ones, their neighbours, and the first."""
    if total <= limit:
        return list(range(total))
    asked = [one for one in dict.fromkeys(wanted) if 0 <= one < total][:limit]
    near = [one + step for step in (-1, 1, -2, 2) for one in asked]
    chosen: dict[int, None] = {}
    for one in (*asked, *near, *range(limit)):
        if 0 <= one < total and len(chosen) < limit:
            chosen[one] = None
    return sorted(chosen)


def gaps(indices: Sequence[int]) -> set[int]:
    """Which of the shown things do not follow their predecessor."""
    return {later for earlier, later in pairwise(indices) if later != earlier + 1}


def left_out(total: int, count_shown: int, noun: str) -> str:
    """`… 280 more rows`, or nothing where all are shown."""
    more = total - count_shown
    return f"… {counted(more, f'more {noun}')}" if more > 0 else ""
