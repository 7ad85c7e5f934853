"""Cases: what a forward looks like, in small integers and no tensors."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

FAR = 2**30  # elements apart from which memory is sparse: three of anything that far apart pass 2^31
FAR_WEIGHTS = {"far": (1, FAR), "far channels": (FAR, 1)}  # strides of a weight whose taps or channels are far apart
CONTENTS = ("exact", "codes", "normal", "wide", "cancel", "tiny", "huge")


class Case:
    """A part of a case; its repr names what differs from the default, and evaluates to the part."""

    def __repr__(self) -> str:
        shown = []
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, field.name)
            if value != field.default:
                shown.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, repr=False)
class Geometry(Case):
    """One stream of a layer: `H` heads of width `ws` at `off_s` in block rows of `D`, `N` tokens a block, `W` taps."""

    H: int = 1
    ws: int = 1
    N: int = 1
    W: int = 1
    off_s: int = 0
    D: int = 1
    dtype: str = "bf16"

    @property
    def C(self) -> int:
        """Channels, head-major."""
        return self.H * self.ws


@dataclass(frozen=True, repr=False)
class Request(Case):
    """`length` new rows of a request with `start` tokens; it shares whole blocks with the earlier request `fork`."""

    start: int = 0
    length: int = 1
    fork: int | None = None


@dataclass(frozen=True, repr=False)
class Layout(Case):
    """How tensors lie in memory: unused table columns and rows, row stride, page padding, strides of the weight."""

    table_columns: int = 0  # columns beyond the longest request
    table_rows: int = 0  # rows beyond the last request
    table_gap: int = 0  # elements between the table's rows
    page_pad: int = 0  # elements after each page
    spare_blocks: int = 1  # physical blocks that nobody owns
    weight: str = "plain"  # "plain", "transposed" (taps outermost), "sliced" (of a larger one) or of FAR_WEIGHTS
    weight_dtype: str = ""  # that of x
    x_gap: int = 0  # elements between the rows of x
    shift: int = 0  # elements between an address that 64 divides and the first element of each tensor
    head_stride: int = 0  # 0: heads lie inside a page; else they lie that far apart, gigantic, outside of the pages


@dataclass(frozen=True, repr=False)
class Forward(Case):
    """One call of `fused_sconv`: requests in row order, then `pads` rows that are padding with stale metadata.

    `holes` are rows of requests whose slot is negative; `block_seed` 0 hands out physical blocks in
    ascending order, others permute them; `seed` fills contents and stale metadata.
    """

    geometry: Geometry = Geometry()
    requests: tuple[Request, ...] = (Request(),)
    pads: int = 0
    holes: tuple[int, ...] = ()
    activation: str | None = None
    use_residual: bool = True
    layout: Layout = Layout()
    contents: str = "exact"
    block_seed: int = 0
    seed: int = 0

    @property
    def rows(self) -> int:
        """Rows of requests, padding left out."""
        return sum(request.length for request in self.requests)

    @property
    def T(self) -> int:
        """Rows of the forward, padding included."""
        return self.rows + self.pads

    @property
    def first_rows(self) -> tuple[int, ...]:
        """The row at which each request begins."""
        starts, row = [], 0
        for request in self.requests:
            starts.append(row)
            row += request.length
        return tuple(starts)


@dataclass(frozen=True, repr=False)
class Metadata(Case):
    """One call of `sconv_seq_metadata`: `lengths`, `repeat` times over, then padding, then slack to stay untouched."""

    lengths: tuple[int, ...] = (1,)
    repeat: int = 1
    padding: int | None = 0  # None: num_padded_tokens is left out of the call
    slack: int = 0  # elements of the output buffers beyond the padded rows
    extra: int = 0  # entries of query_start_loc beyond num_reqs + 1, holding garbage
    shift: int = 0  # as of Layout
    seed: int = 0

    @property
    def all_lengths(self) -> tuple[int, ...]:
        """The length of every request."""
        return self.lengths * self.repeat


@dataclass(frozen=True, repr=False)
class Schedule(Case):
    """One sequence of `sum(cuts)` rows: run in those chunks, or in windows of which 1 + `accepted` rows are kept."""

    geometry: Geometry = Geometry()
    cuts: tuple[int, ...] = (1,)
    window: int = 2  # rows of a verify step: the next token and window - 1 drafts
    accepted: int = 0  # drafts kept of each window
    activation: str | None = None
    use_residual: bool = True
    contents: str = "normal"
    block_seed: int = 0
    seed: int = 0

    @property
    def length(self) -> int:
        """Rows of the sequence."""
        return sum(self.cuts)


def schedule_edges(case: Schedule) -> frozenset[str]:
    """The situations of a schedule that a case reaches, by name."""
    N, W = case.geometry.N, case.geometry.W
    at = [sum(case.cuts[:index]) for index in range(1, len(case.cuts))]
    facts = {
        "chunk shorter than W": any(0 < cut < W - 1 for cut in case.cuts) and len(case.cuts) > 1,
        "chunk of one row": 1 in case.cuts and len(case.cuts) > 1,
        "cut inside a block": any(position % N for position in at),
        "three chunks": len(case.cuts) >= 3,
        "rows over three blocks": case.length > 2 * N,
        "rejected drafts": case.accepted < case.window - 1 and case.length > 1,
        "accepted drafts": case.accepted > 0 and case.length > 1,
        "window longer than W": case.window > W,
    }
    return frozenset(name for name, holds in facts.items() if holds)


@dataclass(frozen=True, repr=False)
class Streams(Case):
    """One forward of the K, V, attention and MLP streams of a layer, run in `order` on one cache.

    `kv` is the width of K and V, `wide` that of the other two; offsets follow one another as in the models.
    """

    forward: Forward = Forward()
    kv: int = 1
    wide: int = 1
    order: tuple[int, ...] = (0, 1, 2, 3)

    @property
    def forwards(self) -> tuple[Forward, ...]:
        """The four forwards, each with contents of its own."""
        streams = layer_streams(replace(self.forward.geometry, ws=self.wide), self.kv)
        return tuple(
            replace(self.forward, geometry=geometry, seed=4 * self.forward.seed + stream)
            for stream, geometry in enumerate(streams)
        )


def layer_streams(geometry: Geometry, kv: int) -> tuple[Geometry, ...]:
    """The K, V, attention and MLP streams of a layer: two of width `kv`, two of the geometry's, from offset 0 on."""
    wide = geometry.ws
    spans = ((0, kv), (kv, kv), (2 * kv, wide), (2 * kv + wide, wide))
    D = max(geometry.D, 2 * kv + 2 * wide)
    return tuple(replace(geometry, off_s=off_s, ws=ws, D=D) for off_s, ws in spans)


def streams_edges(case: Streams) -> frozenset[str]:
    """The edges of the forward, and whether the streams run in another order than they lie."""
    other = {"another order"} if case.order != (0, 1, 2, 3) else set()
    return edges(case.forwards[0]) | other


def shared_positions(case: Forward, index: int) -> int:
    """How many leading positions request `index` shares with the request it forks from: whole blocks both only read."""
    request = case.requests[index]
    if request.fork is None:
        return 0
    parent = case.requests[request.fork]
    N = case.geometry.N
    return min(request.start, parent.start) // N * N


def edges(case: Forward) -> frozenset[str]:
    """The situations of the contract that a forward reaches, by name; what coverage and vacuity are measured by."""
    geometry = case.geometry
    W, N = geometry.W, geometry.N
    holes = set(case.holes)
    found: set[str] = set()
    for index, (request, first) in enumerate(zip(case.requests, case.first_rows, strict=True)):
        start, length = request.start, request.length
        if length == 0:
            found.add("empty request")
            continue
        if any(row not in holes for row in range(first, first + length)):
            found.add("stored row")
        judged = [row for row in range(first, first + min(length, W - 1)) if row not in holes]
        if start > 0 and judged:
            found.add("cached tap")
            oldest = max(0, start - (W - 1))
            if oldest // N != (start - 1) // N:
                found.add("window over two blocks")
            if (start - 1) // N - oldest // N >= 2:
                found.add("window over three blocks")
            if start > 2**16:
                found.add("cached position beyond 65,536")
        if length > 1 and W > 1:
            found.add("tap of this forward")
        if start < W - 1:
            found.add("tap before position 0")
        if start and start % N:
            found.add("start inside a block")
        if (start + length - 1) // N - start // N >= 2:
            found.add("rows over three blocks")
        if length == 1 and start:
            found.add("decode")
        if start >= 4096:
            found.add("deep position")
        if shared_positions(case, index) > max(0, start - (W - 1)):
            found.add("shared prefix read")
    found |= _batch_edges(case)
    return frozenset(found)


def _batch_edges(case: Forward) -> set[str]:
    geometry, layout = case.geometry, case.layout
    busy = sum(request.length > 0 for request in case.requests)
    facts = {
        "two requests": busy >= 2,
        "first request empty": case.rows > 0 and case.requests[0].length == 0,
        "no request rows": case.rows == 0,
        "no rows": case.T == 0,
        "pad tail": case.pads > 0,
        "negative slot inside a request": any(row < case.rows for row in case.holes),
        "N differs from W": geometry.N != geometry.W,
        "gap in D": geometry.D > geometry.ws,
        "offset stream": geometry.off_s > 0,
        "one tap": geometry.W == 1,
        "many elements": case.rows * geometry.C >= 256,
        "several heads": geometry.H % 2 == 0,
        "eight heads": geometry.H % 8 == 0,
        "padded page": layout.page_pad > 0,
        "wider table": layout.table_columns > 0,
        "strided table": layout.table_gap > 0,
        "unused table rows": layout.table_rows > 0,
        "permuted blocks": case.block_seed != 0,
        "activation": case.activation is not None,
        "no residual": not case.use_residual,
        "weight view": layout.weight != "plain",
        "full-size channels": geometry.C >= 768,
    }
    return {name for name, holds in facts.items() if holds}


def metadata_edges(case: Metadata) -> frozenset[str]:
    """The situations of `sconv_seq_metadata` that a case reaches, by name."""
    lengths = case.all_lengths
    facts = {
        "two requests": sum(length > 0 for length in lengths) >= 2,
        "empty request": 0 in lengths,
        "first request empty": bool(lengths) and lengths[0] == 0,
        "last request empty": bool(lengths) and lengths[-1] == 0,
        "padded rows": bool(case.padding),
        "padding left out": case.padding is None,
        "slack": case.slack > 0,
        "no requests": not lengths,
        "many requests": len(lengths) > 64,
        "more rows than a tile": sum(lengths) > 256,
    }
    return frozenset(name for name, holds in facts.items() if holds)


def with_dtype(geometry: Geometry, dtype: str) -> Geometry:
    """The same geometry in another dtype."""
    return replace(geometry, dtype=dtype)
