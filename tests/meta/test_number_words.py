"""Numbers in words: nouns agree with their counts, wherever a failure counts something."""

from __future__ import annotations

import pytest

from properties import configurations
from properties.cases import Forward, Geometry, Metadata, Request
from properties.invariants import cache, metadata, values
from properties.number_words import counted, differ, have, plural, rows_of, times, with_padding
from properties.report.pictures.svg import left_out
from properties.verdict import Violation
from tests.meta.candidates.faults import faulty
from tests.meta.judging_table import bound


def test_nouns_agree_with_their_counts():
    """Puts the singular after 1 alone, thousands apart, and says `no` or `only` where that is how it is said."""
    assert [counted(count, "row") for count in (0, 1, 2_000)] == ["0 rows", "1 row", "2,000 rows"]
    assert [counted(count, "entry", "entries") for count in (1, 2)] == ["1 entry", "2 entries"]
    assert [plural(count, "block") for count in (0, 1, 2)] == ["no blocks", "1 block", "2 blocks"]
    assert [times(count) for count in (1, 2, 3)] == ["once", "twice", "3 times"]
    assert [differ(count, 2, "element") for count in (1, 2)] == ["1 of 2 elements differs", "2 of 2 elements differ"]
    assert differ(1_000, 2_000, "element", " of x") == "1,000 of 2,000 elements of x differ"
    told = [have(count, total, "row") for count, total in ((0, 1), (1, 1), (1, 2), (2, 2))]
    assert told == ["no row has", "the only row has", "1 of 2 rows has", "2 of 2 rows have"]
    assert [rows_of(*one) for one in ((0, 0), (1, 1), (2, 3))] == [
        "no rows",
        "1 row of 1 request",
        "2 rows of 3 requests",
    ]
    told = [with_padding(*one) for one in ((0, 0), (0, 1), (1, 1), (2, 5))]
    assert told == ["no rows", "no rows, padded to 1", "1 row without padding", "2 rows, padded to 5"]
    assert [left_out(3, shown, "row") for shown in (3, 2, 1)] == ["", "… 1 more row", "… 2 more rows"]
    assert [configurations.in_words(count) for count in (1, 2)] == ["1 launch", "2 launches"]


@pytest.mark.parametrize(
    ("fault", "invariant", "case", "words"),
    [
        (
            "stale_tail",
            metadata.searchsorted,
            Metadata((1,), padding=1),
            "1 request with 1 row: 1 row, padded to 2",
        ),
        ("one_row_beyond", metadata.searchsorted, Metadata((1,), slack=1), "lies outside the 1 padded row and"),
        (
            "one_row_beyond",
            metadata.searchsorted,
            Metadata((), slack=1),
            "no requests: no rows\nThen:  there are no rows to",
        ),
        ("pads_in_slot_0", cache.write_frame, Forward(holes=(0,)), "no row has a slot"),
        (
            "window_lost",
            values.dense_exact,
            Forward(Geometry(W=2), (Request(1, 3), Request(1, 3))),
            "all in the first row of a request, whose taps",
        ),
    ],
)
def test_a_failure_counts_in_words(fault, invariant, case, words):
    """Says of one row, one request or no row what is said of them."""
    with pytest.raises(Violation) as caught:
        invariant(bound(fault, faulty(fault)), case)
    assert words in str(caught.value)
