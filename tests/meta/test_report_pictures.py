"""Pictures: arrows go from where taps came, cells say what they hold, and what does not fit is counted."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis.strategies import SearchStrategy

from properties.cases import Forward, Geometry, Metadata, Request, Schedule
from properties.lives import Admit, Life, Rows, Step
from properties.replays import Replays
from properties.report.pictures import pictures
from properties.report.pictures.forward import came_words
from properties.report.pictures.heat import band
from properties.report.pictures.svg import WIDTH, gaps, shown, wrapped
from properties.verdict import Source, Spread, Tap, Violation
from tests.meta.judging_table import drawn_cases, table
from tests.meta.reported import CASE, NULL_BLOCK, violation

# A state machine draws no whole cases; the pinned lives of history.public_bugs are of its kind.
DRAWN = [name for name, judged in sorted(table("bf16").items()) if isinstance(judged.cases, SearchStrategy)]


def drawn(found: Violation, kind: str) -> ElementTree.Element:
    """The picture of that kind."""
    (svg,) = [picture.svg for picture in pictures(found) if picture.kind == kind]
    return ElementTree.fromstring(svg)


def texts(svg: ElementTree.Element) -> list[str]:
    """Every text of a picture."""
    return [one.text or "" for one in svg.iter("text")]


def arrows(svg: ElementTree.Element, look: str) -> list[tuple[str, str]]:
    """Arrows of that look, by the texts of the boxes nearest to their ends."""
    spots = [(float(one.get("x", 0)), float(one.get("y", 0)), one.text or "") for one in svg.iter("text")]
    spots = [spot for spot in spots if re.fullmatch(r"[px]\d+|tap \d+|\d+", spot[2])]
    found = []
    for path in svg.iter("path"):
        if path.get("class") == f"arrow {look}":
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", path.get("d", ""))]
            ends = (numbers[:2], numbers[-2:])
            found.append((nearest(ends[0], spots), nearest(ends[1], spots)))
    return found


def nearest(end: list[float], spots: list[tuple[float, float, str]]) -> str:
    """The text that is nearest to a place."""
    return min(spots, key=lambda spot: abs(spot[0] - end[0]) + abs(spot[1] - end[1]))[2]


def test_arrows_of_taps():
    """Draws each tap from where it came, and one that came from elsewhere from where it was meant to come as well."""
    svg = drawn(violation(came={2: NULL_BLOCK}), "forward")
    assert arrows(svg, "right") == [("p2", "tap 0"), ("p3", "tap 1"), ("x3", "tap 3")]
    assert arrows(svg, "meant") == [("x2", "tap 2")]
    assert arrows(svg, "came") == [("3", "tap 2")]  # the cell is empty; 3 is its offset
    statuses = [one for one in texts(svg) if one.startswith(("✓", "✗"))]
    assert statuses == ["✓ as meant", "✓ as meant", "✗ not meant", "✓ as meant"]


def test_taps_without_a_place():
    """Says in the tap's box what no arrow can show."""
    case = replace(CASE, requests=(Request(length=3), Request(start=4, length=2)))
    came = {0: None, 1: Source("unknown"), 2: Source("nothing")}
    svg = drawn(violation(case, 0, 2, came), "forward")
    assert [one for one in texts(svg) if re.match("[✓✗i]", one)] == ["is 0", "✗ unknown", "✗ nowhere", "✓ as meant"]
    assert (arrows(svg, "came"), arrows(svg, "meant")) == ([], [("x0", "tap 1"), ("x1", "tap 2")])


def test_a_block_outside_the_cache():
    """Draws a block that the cache does not have, since a tap came from it."""
    svg = drawn(violation(came={1: Source("cache", block=99, offset=2, head=0, d=0)}), "forward")
    assert "block 99, outside the cache" in texts(svg)
    assert arrows(svg, "came") == [("2", "tap 1")]


def test_wrong_rows_are_marked():
    """Puts a cross at every row with a wrong element, and fills the one that is told."""
    found = violation()
    elements = ((0, 0, 1.0), (3, 1, 1.0), (5, 0, 1.0))
    svg = drawn(replace(found, spread=Spread(3, 18, "3 differ", 6, 3, elements)), "forward")
    assert sum(one.get("class") == "badge" for one in svg.iter("circle")) == 3
    assert [one.get("class") for one in svg.iter("rect") if "told" in one.get("class", "")] == ["new told"]


def test_a_wrong_cell_is_marked():
    """Marks the element of the cache that a violation names."""
    found = Violation("cache.stores_inputs", "cache", where={"block": 1, "offset": 2, "channel": 0}, case=CASE)
    svg = drawn(found, "forward")
    assert [one.get("class") for one in svg.iter("rect") if "told" in one.get("class", "")] == ["cached told"]


def test_eight_requests():
    """Shows them all, with every row and its padding."""
    case = Forward(Geometry(N=4, W=4), tuple(Request(5 * index, 1 + index % 3) for index in range(8)), pads=3)
    svg = drawn(violation(case, 3, 15), "forward")
    told = texts(svg)
    assert sum(one.startswith("request ") for one in told) == 8
    assert {f"x{row}" for row in range(case.T)} <= set(told)
    assert "request 3: 15 cached (last 3 shown), 1 new row" in told


def test_three_hundred_rows():
    """Keeps the wrong row and the taps' rows, and counts those that are left out."""
    case = Forward(Geometry(W=4), (Request(length=300),))
    svg = drawn(violation(case, 0, 200, {0: Source("x", row=7, channel=0)}), "forward")
    assert "… 280 more rows" in texts(svg)
    assert {"x200", "x199", "x198", "x197", "x7"} <= set(texts(svg))
    assert arrows(svg, "came") == [("x7", "tap 0")]


def test_three_hundred_requests():
    """Keeps the one that is told, and counts those that are left out."""
    case = Forward(Geometry(N=3, W=3), tuple(Request(index % 5) for index in range(300)))
    told = texts(drawn(violation(case, 250, 0), "forward"))
    assert "… 292 more requests" in told
    assert "request 250: 0 cached, 1 new row" in told


def test_a_heat_map():
    """Has a mark for each error, larger and of another class the larger it is; NaN is the worst."""
    svg = drawn(violation(), "heat")
    marks = [one.get("class") for one in svg.iter("path") if "heat" in one.get("class", "")]
    assert marks[:2] == ["heat heat-0", "heat heat-4"]  # half an ulp, NaN; those of the scale follow
    assert [band(ulps) for ulps in (0.5, -1, 8, -100, 1e4, 1e9, float("inf"), float("nan"))] == [0, 0, 1, 2, 3, 4, 4, 4]


def test_a_large_heat_map():
    """Shows the rows and channels that differ, and counts the others."""
    spread = Spread(5000, 323 * 96, "many", 323, 96, tuple((row, 5, 2.0) for row in (1, 300, 322)))
    told = texts(drawn(replace(violation(), spread=spread), "heat"))
    assert {"1", "300", "322"} <= set(told)
    assert {"… 299 more rows", "… 48 more channels", "marked are the first 3 of 5,000 that differ"} <= set(told)


def test_owners():
    """Says what each row must hold, and marks the one that does not."""
    case = Metadata((1, 0, 3), padding=1, slack=2)
    svg = drawn(Violation("metadata.searchsorted", "seq_idx_out", {"row": 2}, 1, 2, case=case), "rows")
    assert [one.text for one in svg.iter("text") if one.get("class") == "cell"] == ["0", "2", "2", "2", "0", "·", "·"]
    assert "row 2: found 1, but should be 2" in texts(svg)
    svg = drawn(Violation("metadata.searchsorted", "query_start_out", {"row": 2}, 1, 2, case=case), "rows")
    assert [one.text for one in svg.iter("text") if one.get("class") == "cell"] == ["0", "1", "1", "1", "0", "·", "·"]


def marked_step(found: Violation) -> str:
    """The text that stands in the box of the marked step."""
    svg = drawn(found, "steps")
    (box,) = [one for one in svg.iter("rect") if "told" in one.get("class", "")]
    place = {"x": f"{float(box.get('x', 0)) + 6:g}", "y": f"{float(box.get('y', 0)) + 13:g}"}
    (text,) = [one.text for one in svg.iter("text") if place.items() <= one.attrib.items()]
    return text or ""


def test_steps_of_a_life():
    """Marks the step that fails: the one named, else the last."""
    life = Life(steps=(Admit(), Step((Rows(count=3),)), Admit(), Step()))
    found = Violation("history.life", "out", case=life)
    assert marked_step(found) == "3  step"
    assert marked_step(replace(found, where={"step": 1})) == "1  step"


def test_steps_of_replays():
    """Marks the forward that fails, behind what is captured; nothing where it is not known."""
    case = Replays((Forward(), Forward(requests=(Request(length=2),))), small=1)
    found = Violation("graphs.full", "out", case=case)
    assert marked_step(replace(found, step=1)) == "3  replay 1"
    assert not any("told" in one.get("class", "") for one in drawn(found, "steps").iter("rect"))


def test_chunks_of_a_sequence():
    """Has a cell for each position, coloured by chunk, and marks the wrong one."""
    found = Violation("schedule.any_cut", "out", {"position": 2, "channel": 0}, case=Schedule(cuts=(1, 2, 1)))
    svg = drawn(found, "steps")
    looks = [one.get("class") for one in svg.iter("rect") if one.get("class") != "wrong"]
    assert looks == ["new", "cached", "cached told", "new"]


@pytest.mark.parametrize("name", DRAWN)
def test_every_case_has_a_picture(name):
    """Draws the cases of every property: well-formed, within the width, with a title and a description."""
    for case in (*drawn_cases(name, "bf16", 10), *table("bf16")[name].pinned):
        found = Violation(name, "out", {"row": 0, "channel": 0}, 1, 2, let="let", case=case)
        for picture in pictures(found):
            svg = ElementTree.fromstring(picture.svg)
            assert {"title", "desc", "g"} <= {one.tag for one in svg}
            assert all(one.text for one in svg if one.tag in ("title", "desc"))
            for box in svg.iter("rect"):
                assert 0 <= float(box.get("x", -1)) <= float(box.get("x", 0)) + float(box.get("width", 0)) <= WIDTH
        assert pictures(found), case


def test_what_is_shown():
    """Takes all that fit, else the wanted, their neighbours and the first."""
    assert shown(3, [], 4) == [0, 1, 2]
    assert shown(100, [50], 5) == [48, 49, 50, 51, 52]
    assert shown(100, [50, 700], 7) == [0, 1, 48, 49, 50, 51, 52]
    assert gaps([0, 1, 48, 49]) == {48}
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("overlong", 5) == ["over…"]


def test_taps_in_words():
    """Names channel, head and lane only where those are what differs."""
    tap = Tap(1, Source("cache", block=7, offset=3, head=0, d=1), Source("cache", block=7, offset=3, head=2, d=1))
    assert came_words(tap) == (
        "came from block 7 offset 3 head 2 d 1, but was meant to come from block 7 offset 3 head 0 d 1"
    )
    assert came_words(Tap(0, Source("nothing"), NULL_BLOCK)).endswith(
        "(the null block) head 0 d 0, but was meant to be 0"
    )
    assert came_words(Tap(0, NULL_BLOCK)) == "is meant to come from block 0 offset 3 (the null block)"
