"""What a call of `sconv_seq_metadata` has."""

from __future__ import annotations

from properties.cases import Metadata, metadata_edges
from properties.features import Facts
from properties.features.geometry import class_of


def metadata_features(case: Metadata) -> Facts:
    """What a call of `sconv_seq_metadata` has."""
    lengths = case.all_lengths
    count, rows = len(lengths), sum(lengths)
    padded = rows + (case.padding or 0)
    return {
        "no requests": not lengths,
        "no rows": rows == 0,
        "one request": count == 1,
        "two requests": sum(length > 0 for length in lengths) >= 2,
        "empty request first": bool(lengths) and lengths[0] == 0,
        "empty request in the middle": 0 in lengths[1:-1],
        "empty request last": bool(lengths) and lengths[-1] == 0,
        "three empty requests in a row": any(lengths[at : at + 3] == (0, 0, 0) for at in range(count)),
        "only empty requests": bool(lengths) and rows == 0,
        "a power of two of requests": count >= 2 and count & (count - 1) == 0,
        "one request more than a power of two": count >= 3 and (count - 1) & (count - 2) == 0,
        "one request less than a power of two": count >= 3 and (count + 1) & count == 0,
        "rows that fill tiles of 256": rows > 0 and rows % 256 == 0,
        "one row more than tiles of 256": rows > 1 and rows % 256 == 1,
        "one row less than tiles of 256": rows % 256 == 255,
        "padding that fills the last tile": bool(case.padding) and padded % 256 == 0,
        "padding over a tile's edge": bool(case.padding) and rows // 256 < (padded - 1) // 256,
        "no padding": case.padding == 0,
        "padding left out": case.padding is None,
        "slack": case.slack > 0,
        "no slack": case.slack == 0,
        "garbage behind query_start_loc": case.extra > 0,
        **class_of("num_reqs", count),
        **class_of("num_actual_tokens", rows),
        **class_of("num_padded_tokens", padded),
        **dict.fromkeys(sorted(metadata_edges(case)), True),
    }
