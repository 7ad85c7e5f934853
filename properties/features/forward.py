"""What a forward has: its requests, forks, rows without a slot, arguments."""

from __future__ import annotations

from itertools import pairwise

from properties.cases import Forward, Request, edges, shared_positions
from properties.features import Facts
from properties.features.geometry import class_of, geometry_features
from properties.paging import needed_blocks, place
from properties.tensors import row_metadata

TILE = 8  # rows of the upstream kernel's tile


def forward_features(case: Forward) -> Facts:
    """What a forward has."""
    return {
        **request_features(case),
        **_crowd(case),
        **_lengths(case),
        **tile_features(case),
        **_sharing(case),
        **slot_features(case),
        **argument_features(case),
        **geometry_features(case.geometry),
        **_specialised(case),
        **dict.fromkeys(sorted(edges(case)), True),
    }


def tile_features(case: Forward) -> Facts:
    """Whether a tile and its window lie in one request, and what such a tile has."""
    window, holes = case.geometry.W - 1, set(case.holes)
    names = ("tile inside a request", "such a tile with a row without a slot", "such a tile cut at the end")
    found = dict.fromkeys(names, False)
    for first, request in zip(case.first_rows, case.requests, strict=True):
        end = first + request.length
        for tile in range(-(-(first + window) // TILE) * TILE, end, TILE):
            rows = range(tile, min(tile + TILE, case.T))
            if rows[-1] < end and rows[-1] not in holes:
                facts = (True, not holes.isdisjoint(rows), len(rows) < TILE)
                found = {name: found[name] or holds for name, holds in zip(names, facts, strict=True)}
    return found


def _busy(case: Forward) -> list[Request]:
    return [request for request in case.requests if request.length]


def request_features(case: Forward) -> Facts:
    """How many requests there are, and which are empty."""
    filled = [request.length > 0 for request in case.requests]
    return {
        "no requests": not filled,
        "one request": len(filled) == 1,
        "two requests": sum(filled) >= 2,
        "empty request first": filled[:1] == [False],
        "empty request in the middle": False in filled[1:-1],
        "empty request last": filled[-1:] == [False],
        "only empty requests": bool(filled) and not any(filled),
    }


def _crowd(case: Forward) -> Facts:
    """How requests meet in a tile, and what kind of batch they make."""
    filled = [request.length > 0 for request in case.requests]
    first_rows = [first for first, is_busy in zip(case.first_rows, filled, strict=True) if is_busy]
    resumed = [request for request in _busy(case) if request.start]
    decodes = sum(request.length == 1 for request in resumed)
    alike = {request.length for request in resumed} if len(resumed) == len(first_rows) >= 2 else set()
    return {
        "five requests or more": len(filled) >= 5,
        "two empty requests in a row": any(not a and not b for a, b in pairwise(filled)),
        "tile with two requests": any(first % TILE for first in first_rows[1:]),
        "request that begins a later tile": any(first % TILE == 0 for first in first_rows[1:]),
        "more rows than a tile": case.T > TILE,
        "exactly one tile": case.T == TILE,
        "decode beside a longer chunk": decodes > 0 and any(request.length > 1 for request in _busy(case)),
        "only decodes": alike == {1},
        "only verify windows of one length": len(alike) == 1 and 2 <= alike.pop() <= 9,
    }


def _lengths(case: Forward) -> Facts:
    """Where requests start and end, and how many rows they bring."""
    N, W = case.geometry.N, case.geometry.W
    busy = _busy(case)
    spans = [needed_blocks(request.start, request.length, W, N) for request in busy]
    chunks = [request for request in busy if request.start]
    ends = [request.start + request.length for request in busy]
    return {
        **{f"verify window of {rows}": any(r.length == rows for r in chunks) for rows in range(1, 10)},
        "chunk shorter than W": any(request.length < W for request in chunks),
        "chunk of W-1 rows": W > 1 and any(request.length == W - 1 for request in chunks),
        "chunk of W rows": any(request.length == W for request in chunks),
        "chunk of W+1 rows": any(request.length == W + 1 for request in chunks),
        "chunk of N-1 rows": N > 1 and any(request.length == N - 1 for request in chunks),
        "chunk of N rows": any(request.length == N for request in chunks),
        "chunk of N+1 rows": any(request.length == N + 1 for request in chunks),
        "first chunk ends inside a block": any(not r.start and r.length % N for r in busy),
        "first chunk ends at a block's edge": any(not r.start and r.length % N == 0 for r in busy),
        "later chunk ends at a block's edge": any(r.start and end % N == 0 for r, end in zip(busy, ends, strict=True)),
        "start at a block's edge": any(request.start % N == 0 for request in chunks),
        "start inside a block": any(request.start % N for request in chunks),
        "start below W-1": any(request.start < W - 1 for request in chunks),
        "start of W-1": any(request.start == W - 1 for request in chunks),
        "request that spans two blocks": any(len(span) == 2 for span in spans),
        "request that spans three blocks": any(len(span) >= 3 for span in spans),
        "new rows over three blocks": any(
            (end - 1) // N - r.start // N >= 2 for r, end in zip(busy, ends, strict=True)
        ),
        "start beyond 4,000": any(request.start > 4000 for request in busy),
        "start beyond 65,535": any(request.start > 65535 for request in busy),
        "start beyond 1,000,000": any(request.start > 10**6 for request in busy),
    }


def forks(case: Forward) -> dict[int, int]:
    """Requests that read a block which their parent reads too, with the parent."""
    found = {}
    tables = place(case).blocks
    for index, request in enumerate(case.requests):
        shared = shared_positions(case, index)
        if request.fork is not None and request.length and shared > max(0, request.start - (case.geometry.W - 1)):
            if shared // case.geometry.N - 1 in tables[request.fork]:
                found[index] = request.fork
    return found


def _sharing(case: Forward) -> Facts:
    """Forks: who shares blocks with whom, and how far."""
    shared, requests = forks(case), case.requests
    return {
        "fork that reads a shared block": bool(shared),
        "fork of a fork": any(parent in shared for parent in shared.values()),
        "two forks of one request": len(set(shared.values())) < len(shared),
        "fork whose rows follow the shared blocks": any(shared_positions(case, i) == requests[i].start for i in shared),
        "fork that reads shared and own blocks": any(shared_positions(case, i) < requests[i].start for i in shared),
        "fork and parent of different lengths": any(
            requests[i].length != requests[p].length for i, p in shared.items()
        ),
    }


def slot_features(case: Forward) -> Facts:
    """Rows without a slot: where they are, and which negative values name them."""
    holes = set(case.holes)
    spans = [range(at, at + r.length) for at, r in zip(case.first_rows, case.requests, strict=True) if r.length]
    slots = row_metadata(case, place(case))["slot_mapping"].tolist()
    inside = [slots[hole] for hole in case.holes]
    return {
        "PAD at the tail": case.pads > 0,
        "PAD over a whole tile": case.pads >= 2 * TILE,
        "PAD only": case.pads > 0 and case.rows == 0,
        "PAD at a request's first row": any(span[0] in holes for span in spans if len(span) > 1),
        "PAD in the middle of a request": any(holes.intersection(span[1:-1]) for span in spans),
        "PAD at a request's last row": any(span[-1] in holes for span in spans if len(span) > 1),
        "PAD that is a tap of a stored row": any(
            row in holes and row + 1 not in holes for span in spans for row in span[:-1]
        )
        and case.geometry.W > 1,
        "PAD everywhere in a request beside another": len(spans) > 1 and any(holes.issuperset(span) for span in spans),
        "PAD everywhere": case.T > 0 and max(slots) < 0,
        "PAD nowhere": case.T > 0 and min(slots) >= 0,
        "slot of -1": -1 in slots,
        "slot below -1 in a request": any(slot < -1 for slot in inside),
        "slot below -1 at the tail": any(slot < -1 for slot in slots[case.rows :]),
        "slot below -2^31": any(slot < -(2**31) for slot in slots),
        "slot whose low 32 bits are not negative": any(slot < 0 <= slot % 2**32 < 2**31 for slot in slots),
        "slot of -2^63": -(2**63) in slots,
    }


def argument_features(case: Forward) -> Facts:
    """Flags and layouts."""
    layout = case.layout
    wide = layout.page_pad < 2**30  # pages far apart are a strategy of their own
    return {
        **{f"activation {name}": case.activation == name for name in (None, "silu", "swish")},
        "residual": case.use_residual,
        "no residual": not case.use_residual,
        **{f"weight {kind}": layout.weight == kind for kind in ("plain", "transposed", "sliced")},
        "table with more columns": layout.table_columns > 0,
        "table with more rows": layout.table_rows > 0,
        "table with rows apart": layout.table_gap > 0,
        "pages padded by a multiple of 16": wide and layout.page_pad > 0 and layout.page_pad % 16 == 0,
        "pages padded otherwise": wide and layout.page_pad % 16 > 0,
        "pages unpadded": layout.page_pad == 0,
        "blocks in ascending order": case.block_seed == 0,
        "blocks permuted": case.block_seed != 0,
    }


def _specialised(case: Forward) -> Facts:
    H, N, D = case.geometry.H, case.geometry.N, case.geometry.D
    columns = place(case).width + case.layout.table_columns
    return {
        **class_of("rows T", case.T),
        **class_of("columns of the table", columns),
        **class_of("row stride of the table", columns + case.layout.table_gap),
        **class_of("row stride of x", case.geometry.C),
        **class_of("page stride", H * N * D + case.layout.page_pad),
        **class_of("head stride", N * D),
        **class_of("token stride", D),
        **class_of("block_size", N),
    }
