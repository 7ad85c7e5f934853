"""Tensors: a case laid out in memory, between red zones, with strangers' data wherever nothing may look."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from properties import contents
from properties.cases import FAR, FAR_WEIGHTS, Forward, Metadata
from properties.contract import DTYPES
from properties.memory import RED_ZONE, Guarded, contiguous, far, guard, moved, owned
from properties.paging import Placement, place


@dataclass
class Batch:
    """The arguments of one `fused_sconv` call and what the case says of them.

    `inputs[r]` is `[context + length, C]`: the request's conv inputs from the oldest position a tap
    of it may need (`context = min(start, W - 1)` rows of history) to its last new row.
    """

    case: Forward
    placement: Placement
    guarded: dict[str, Guarded]
    inputs: list[torch.Tensor]
    device: torch.device
    arguments: dict[str, object] = field(default_factory=dict)

    def __getattr__(self, name: str) -> torch.Tensor:
        try:
            return self.__dict__["guarded"][name].view
        except KeyError:
            raise AttributeError(name) from None

    @property
    def x_before(self) -> torch.Tensor:
        """The rows as they were before the call, which must not write them."""
        x = self.guarded["x"]
        if x.memory is x.view:
            return x.before
        return x.before.as_strided(x.view.shape, x.view.stride(), x.view.storage_offset())

    @property
    def slots(self) -> torch.Tensor:
        """The slot of every row, on the host."""
        return self.guarded["slot_mapping"].view.cpu()


def build(case: Forward, *, outside: str = "filler", garbage: bool = False, device: str = "cpu") -> Batch:
    """Lays a case out.

    outside: what cache elements hold that no tap may read: "filler" (finite strangers) or "nan".
    garbage: unused block-table entries hold ids out of every range instead of plausible ones.
    """
    geometry = case.geometry
    placement = place(case)
    inputs = _request_inputs(case, placement)
    dtype = case.layout.weight_dtype or geometry.dtype
    weight = contents.weights(case.contents, stream(case, "weight"), geometry.C, geometry.W, dtype)
    tensors = {
        "x": _rows(case, inputs),
        "weight": weight,
        **row_metadata(case, placement),
        "block_table": _table(case, placement, garbage),
    }
    guarded = {}
    target = torch.device(device)
    for name, values in tensors.items():
        strides = _strides(case, name, tuple(values.shape))
        if values.numel() > 0 and max(strides) >= FAR:
            guarded[name] = far(name, values, strides, target)
        else:
            guarded[name] = moved(owned(name, values, strides, case.layout.shift), target)
    near = _cache(case, placement, inputs, outside)
    is_far = max(case.layout.page_pad, case.layout.head_stride) >= FAR
    guarded["cache"] = _spread(near, case, target) if is_far else moved(near, target)
    batch = Batch(case, placement, guarded, inputs, target)
    batch.arguments = {
        **{name: one.view for name, one in guarded.items()},
        "off_s": geometry.off_s,
        "ws": geometry.ws,
        "block_size": geometry.N,
        "activation": case.activation,
        "use_residual": case.use_residual,
    }
    return batch


def _spread(near: Guarded, case: Forward, device: torch.device) -> Guarded:
    """The cache with its pages or heads as far apart as the case says, in sparse memory."""
    page, head, token, _ = near.view.stride()
    if case.layout.page_pad >= FAR:
        page += case.layout.page_pad
    return far(near.name, near.view, (page, case.layout.head_stride or head, token, 1), device)


def _strides(case: Forward, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    if name == "weight":
        C, W = shape
        return {"plain": (W, 1), "transposed": (1, C), "sliced": (2 * W, 1), **FAR_WEIGHTS}[case.layout.weight]
    if name == "block_table":
        return (shape[1] + case.layout.table_gap, 1)
    if name == "x" and case.layout.x_gap:
        return (shape[1] + case.layout.x_gap, 1)
    return contiguous(shape)


def stream(case: Forward, purpose: str, index: int = 0) -> np.random.Generator:
    """A generator of its own for each purpose and request, so that a change to one tensor leaves the others."""
    purposes = ("inputs", "weight", "padding", "metadata", "table", "cache")
    return np.random.default_rng((case.seed, purposes.index(purpose), index))


def _request_inputs(case: Forward, placement: Placement) -> list[torch.Tensor]:
    """Every request's inputs; a fork has its parent's where the two share a block."""
    geometry = case.geometry
    C, W, N = geometry.C, geometry.W, geometry.N
    cells: dict[tuple[int, int], torch.Tensor] = {}
    inputs, coded = [], 0
    for index, request in enumerate(case.requests):
        context = min(request.start, W - 1) if request.length else 0
        rows = context + request.length
        if case.contents == "codes":
            values = contents.codes(coded, rows * C, geometry.dtype).view(rows, C)
            coded += rows * C
        else:
            values = contents.inputs(case.contents, stream(case, "inputs", index), rows, C, geometry.dtype)
        for offset in range(context):
            block, inside = divmod(request.start - context + offset, N)
            cell = (placement.blocks[index][block], inside)
            if cell in cells:
                values[offset] = cells[cell]
            else:
                cells[cell] = values[offset]
        inputs.append(values)
    return inputs


def _rows(case: Forward, inputs: list[torch.Tensor]) -> torch.Tensor:
    """`x`: the new rows of every request, then padding rows with contents of their own."""
    geometry = case.geometry
    kind = "exact" if case.contents == "codes" else case.contents
    new = [values[values.shape[0] - r.length :] for values, r in zip(inputs, case.requests, strict=True)]
    padding = contents.inputs(kind, stream(case, "padding"), case.pads, geometry.C, geometry.dtype)
    return torch.cat([*new, padding]) if new else padding


def row_metadata(case: Forward, placement: Placement) -> dict[str, torch.Tensor]:
    """Positions, owners, slots and first rows; padding rows hold stale values in range for their buffers."""
    T, rows = case.T, case.rows
    generator = stream(case, "metadata")
    positions = generator.integers(0, 4096, T, np.int64)
    seq_idx = generator.integers(0, len(case.requests) + case.layout.table_rows or 1, T, np.int32)
    query_start = generator.integers(0, max(1, T), T, np.int32)
    # Some that low 32 bits, a comparison with -1 or a sum would take for a slot; by row, so that any can be the first.
    negative = np.array([-1, -2, -case.geometry.N, -(2**31), -(2**40), -(2**63)])
    slots = negative[(case.seed + np.arange(T)) % len(negative)]
    is_hole = np.zeros(T, bool)
    is_hole[list(case.holes)] = True
    for index, (request, first) in enumerate(zip(case.requests, case.first_rows, strict=True)):
        span = slice(first, first + request.length)
        positions[span] = np.arange(request.start, request.start + request.length)
        seq_idx[span], query_start[span] = index, first
        slots[span] = np.where(is_hole[span], slots[span], placement.slots(index, request.start, request.length))
    assert all(0 <= hole < max(1, rows) for hole in case.holes), f"holes={case.holes} must be rows below {rows}"
    arrays = {"positions": positions, "seq_idx": seq_idx, "slot_mapping": slots, "query_start": query_start}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _table(case: Forward, placement: Placement, garbage: bool) -> torch.Tensor:
    """The block table; entries that no window needs hold ids of other blocks, or garbage."""
    layout = case.layout
    shape = (max(1, len(case.requests) + layout.table_rows), placement.width + layout.table_columns)
    if garbage:
        stale = np.array([-1, 0, placement.num_blocks, 2**30, -(2**31), 2**31 - 1], np.int32)
    else:
        stale = np.arange(placement.num_blocks, dtype=np.int32)
    # A prime period: deep contexts make wide tables, and neighbouring rows should still differ.
    pattern = stream(case, "table").integers(0, len(stale), 1021)
    table = stale[np.resize(pattern, shape)]
    for index, blocks in enumerate(placement.blocks):
        for logical, physical in blocks.items():
            table[index, logical] = physical
    return torch.from_numpy(table)


def _cache(case: Forward, placement: Placement, inputs: list[torch.Tensor], outside: str) -> Guarded:
    """The cache `[num_blocks, H, N, D]`: histories in their windows, strangers everywhere else."""
    geometry = case.geometry
    H, N, D, ws, off_s = geometry.H, geometry.N, geometry.D, geometry.ws, geometry.off_s
    shape = (placement.num_blocks, H, N, D)
    page = H * N * D + (case.layout.page_pad if case.layout.page_pad < FAR else 0)
    extent = placement.num_blocks * page
    memory = guard("cache", extent, DTYPES[geometry.dtype], torch.device("cpu"))
    first = RED_ZONE + case.layout.shift
    if outside == "nan":
        memory[first : first + extent] = contents.poison(extent, geometry.dtype)
    else:
        memory[first : first + extent] = contents.filler(stream(case, "cache"), extent, geometry.dtype)
    view = memory.as_strided(shape, (page, N * D, D, 1), first)
    for index, (request, values) in enumerate(zip(case.requests, inputs, strict=True)):
        context = values.shape[0] - request.length
        for offset in range(context):
            position = request.start - context + offset
            block, inside = divmod(position, N)
            view[placement.blocks[index][block], :, inside, off_s : off_s + ws] = values[offset].view(H, ws)
    return Guarded("cache", view, memory, memory.clone())


def expected_cache(batch: Batch) -> torch.Tensor:
    """The whole memory of the cache as it must be afterwards: stored inputs, and nothing else changed."""
    geometry, cache = batch.case.geometry, batch.guarded["cache"]
    memory = cache.before.clone()
    view = memory
    if cache.memory is not cache.view:  # gigantic memory is compared by its elements alone
        view = memory.as_strided(cache.view.shape, cache.view.stride(), cache.view.storage_offset())
    slots = batch.slots.to(memory.device)
    stored = slots >= 0
    block, offset = slots[stored] // geometry.N, slots[stored] % geometry.N
    x = batch.x_before[stored].view(-1, geometry.H, geometry.ws)
    view[block, :, offset, geometry.off_s : geometry.off_s + geometry.ws] = x
    return memory


@dataclass
class MetadataBatch:
    """The arguments of one `sconv_seq_metadata` call, between red zones."""

    case: Metadata
    num_reqs: int
    num_actual_tokens: int
    num_padded_tokens: int
    guarded: dict[str, Guarded]


def build_metadata(case: Metadata, device: str = "cpu") -> MetadataBatch:
    """Lays a metadata case out; output buffers hold garbage, `query_start_loc` has garbage beyond its last entry."""
    generator = np.random.default_rng(case.seed)
    lengths = np.array(case.all_lengths, np.int64)
    actual = int(lengths.sum())
    padded = actual + (case.padding or 0)
    starts = np.concatenate([[0], np.cumsum(lengths), generator.integers(-9, 2**31 - 1, case.extra)]).astype(np.int32)
    garbage = generator.integers(-(2**31), 2**31 - 1, (2, padded + case.slack), np.int32)
    target = torch.device(device)
    guarded = {}
    for name, array in (
        ("query_start_loc", starts),
        ("seq_idx_out", garbage[0]),
        ("query_start_out", garbage[1]),
    ):
        values = torch.from_numpy(array)
        one = owned(name, values, (1,), case.shift)
        guarded[name] = moved(one, target)
    return MetadataBatch(case, len(lengths), actual, padded, guarded)
