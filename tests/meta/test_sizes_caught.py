"""Faults that only extreme sizes show: each is caught by the property that is about its size."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from properties import memory, pinned, pinned_edges, size_strategies, tally, tiles, turns
from properties.candidate import load
from properties.engines import choose
from properties.invariants import sizes
from properties.verdict import Violation
from tests.meta.candidates import plain, tiled
from tests.meta.drawing import first_violation
from tests.meta.judging_table import bound

TILED = Path(tiled.__file__).read_text()


def changed_kernel(folder: Path, *changes: tuple[str, str]) -> Any:
    """The operators of candidates/tiled.py with a few places changed, on the machine."""
    text = TILED
    for old, new in changes:
        assert text.count(old) >= 1
        text = text.replace(old, new)
    path = folder / "changed.py"
    path.write_text(text)
    return choose("ttir").bind(load(str(path)))


@pytest.mark.parametrize(
    ("what", "invariant", "change"),
    [
        ("blocks", sizes.far_blocks, ("block.to(tl.int64) * stride_cache_block", "block * stride_cache_block")),
        ("table", sizes.far_table, ("mask=has_row, other=0).to(tl.int64)", "mask=has_row, other=0)")),
        ("heads", sizes.far_heads, ("(tl.program_id(1) // TILES_PER_HEAD).to(tl.int64)",
                                    "tl.program_id(1) // TILES_PER_HEAD")),
        ("taps", sizes.far_weights, ("tl.cast(stride_weight_tap, tl.int64)", "stride_weight_tap")),
        ("channels", sizes.far_weights, ("(head * WS + lane) * stride_weight_channel",
                                         "(tl.program_id(1) // TILES_PER_HEAD * WS + lane) * stride_weight_channel")),
        ("rows", sizes.far_rows, ("tl.program_id(0).to(tl.int64) * BLOCK_T", "tl.program_id(0) * BLOCK_T")),
    ],
)  # fmt: skip  # what 64 bits are for, one a line
def test_offsets_of_32_bits(what, invariant, change, tmp_path):
    """Finds the one product that wraps."""
    found = first_violation(changed_kernel(tmp_path, change), invariant, size_strategies.far_forwards("bf16", what), 40)
    assert found is not None
    assert found.property_name == invariant.entry.name


@pytest.mark.parametrize("is_of_a_gpu", [True, False])
def test_a_failed_case_keeps_no_gigabytes(is_of_a_gpu, monkeypatch, tmp_path):
    """Where processes take turns, a violation is explained before the next one's turn, and holds no tensor then."""
    monkeypatch.setattr(turns, "held", lambda: is_of_a_gpu)
    laid_out = memory.sparse
    made = []

    def sparse(*arguments: Any) -> torch.Tensor:
        tensor = laid_out(*arguments)
        made.append(weakref.ref(tensor.untyped_storage()))
        return tensor

    monkeypatch.setattr(memory, "sparse", sparse)
    ops = changed_kernel(tmp_path, ("tl.cast(stride_weight_tap, tl.int64)", "stride_weight_tap"))
    found = first_violation(ops, sizes.far_weights, size_strategies.far_forwards("bf16", "taps"), 40)
    assert found is not None
    assert made
    assert any(one() is not None for one in made) != is_of_a_gpu


def violated(ops: Any, invariant: Any, cases: list[Any]) -> bool:
    """Whether one of the cases violates that property."""
    try:
        for case in cases:
            invariant(ops, case)
    except Violation as violation:
        return violation.property_name == invariant.entry.name
    return False


def last_element_lost(is_edge: Callable[[int, int], bool]) -> Any:
    """The plain candidate, whose last output element is 0 at some sizes `T`, `C`."""

    class Lost(plain.Plain):
        def finish(self, step: plain.Step, out: torch.Tensor) -> torch.Tensor:
            if is_edge(*out.shape):
                out[-1, -1] += 1
            return out

    return Lost()


@pytest.mark.parametrize(
    ("known", "is_edge"),
    [
        ((), lambda T, C: T == 129),
        ((), lambda T, C: T > 500 and T % 512 == 511),
        ((), lambda T, C: C == 513),
        ((), lambda T, C: C == 31),
        ((4, 64, 256), lambda T, C: C % 64 == 63),
        ((4, 64, 256), lambda T, C: C == 257),
        ((8, 256), lambda T, C: T % 8 == 1 and T > 16),
    ],
)
def test_one_size_beside_a_tile(known, is_edge):
    """Finds a fault at a single size around tiles, known or not, in the pinned cases, which every run judges."""
    cases = pinned.tile_forwards(known)
    assert not violated(bound("plain", plain), sizes.tile_edges, cases)
    assert violated(bound("faulty", last_element_lost(is_edge)), sizes.tile_edges, cases)


def test_a_way_for_long_forwards_alone():
    """Finds a fault of many rows that lies beside no power of two, and that no other drawn forward has."""
    faulty = last_element_lost(lambda T, C: 600 < T < 10_000 and T % 64 not in (0, 1, 63))
    cases = pinned_edges.long_forwards("bf16")
    assert not violated(bound("plain", plain), sizes.long_forwards, cases)
    assert violated(bound("faulty", faulty), sizes.long_forwards, cases)
    assert not violated(bound("faulty", faulty), sizes.tile_edges, pinned.tile_forwards(()))
    assert not violated(bound("faulty", faulty), sizes.many_rows, pinned.many_rows())


def test_a_way_for_many_elements_alone():
    """Finds a fault that starts at a number of elements which few rows of a real stream have."""
    faulty = bound("faulty", last_element_lost(lambda T, C: T * C > 2**22))
    cases = pinned_edges.long_forwards("bf16")
    assert not violated(bound("plain", plain), sizes.long_forwards, cases)
    assert violated(faulty, sizes.long_forwards, cases)
    assert not violated(faulty, sizes.many_rows, pinned.many_rows())
    assert first_violation(faulty, sizes.long_forwards, size_strategies.long_forwards(), 60) is not None


def test_two_sizes_beside_tiles_at_once():
    """Finds a fault that only a full row tile beside a cut channel tile has, in as many cases as a run draws."""
    faulty = last_element_lost(lambda T, C: C % 64 == 1 and T % 8 == 7)
    cases = size_strategies.tile_forwards((8, 64))
    assert first_violation(bound("plain", plain), sizes.tile_edges, cases, 60) is None
    assert first_violation(bound("faulty", faulty), sizes.tile_edges, cases, 120) is not None


def test_tiles_are_found_where_they_are_exposed(tmp_path):
    """Reads constexpr arguments of launches and module constants."""
    assert tiles.of_fused_sconv(changed_kernel(tmp_path, ("ROW_TILE = 4", "ROW_TILE = 32"))) == (4, 32, 64, 256)
    hidden = [("ROW_TILE = 4", "ROW_TILES = '4'"), ("BLOCK_T=ROW_TILE", "BLOCK_T=16"), ("ROW_TILE)", "16)")]
    assert 16 in tiles.of_fused_sconv(changed_kernel(tmp_path, *hidden))


def test_a_candidate_that_exposes_no_tile(monkeypatch):
    """Finds none in plain torch, and then counts channels around powers of two."""
    monkeypatch.setattr("properties.ttir.frontend.configurations", lambda packages: [])  # those of other tests
    assert tiles.of_fused_sconv(bound("plain", plain)) == ()
    widths = {geometry.ws for geometry in tiles.tile_geometries(())}
    assert widths >= {power + more for power in tiles.POWERS for more in (-1, 0, 1)}


class Narrow(plain.Plain):
    """Rows are counted in 16 bits, requests too."""

    def search_owner(self, query_start_loc: torch.Tensor, num_reqs: int, row: torch.Tensor) -> torch.Tensor:
        return super().search_owner(query_start_loc, num_reqs, row) % 2**16


class Short(plain.Plain):
    """Tiles of 8 rows stand in an axis that holds 65,535 of them."""

    def finish(self, step: plain.Step, out: torch.Tensor) -> torch.Tensor:
        out[8 * 65_535 :] = 0
        return out

    def clear(self, buffer: torch.Tensor, begin: int, end: int) -> None:
        buffer[begin : min(end, 8 * 65_535)] = 0


@pytest.mark.parametrize(
    ("fault", "invariant", "cases"),
    [
        (Short, sizes.many_rows, pinned.many_rows()),
        (Short, sizes.metadata_many_rows, pinned.metadata_many_rows()),
        (Narrow, sizes.metadata_many_rows, pinned.metadata_many_rows()),
    ],
)
def test_many_rows(fault, invariant, cases):
    """Finds what a count of rows or requests loses, and a correct candidate does not."""
    assert not violated(bound("plain", plain), invariant, cases)
    assert violated(bound("faulty", fault()), invariant, cases)


def test_rows_on_the_second_axis(tmp_path):
    """Sees more programs than an axis holds, as a hazard of the launch."""
    swapped = [
        ("tl.program_id(0)", "tl.program_id(2)"), ("tl.program_id(1)", "tl.program_id(0)"),
        ("tl.program_id(2)", "tl.program_id(1)"),
        ("[(triton.cdiv(T, ROW_TILE), channel_tiles)]", "[(channel_tiles, triton.cdiv(T, ROW_TILE))]"),
    ]  # fmt: skip  # one exchange
    sizes.many_rows(changed_kernel(tmp_path, *swapped), pinned.many_rows()[0])
    assert "grid too large: axis 1 has" in str(tally.COUNTS["hazards.fused_sconv"].examples)


def test_one_size_of_the_metadata():
    """Finds a bisection that is one step short for one number of requests."""

    class ShortOnce(plain.Plain):
        def search_steps(self, num_reqs: int) -> int:
            return super().search_steps(num_reqs) - (num_reqs == 257)

    cases = pinned.tile_metadata((256,))
    assert not violated(bound("plain", plain), sizes.metadata_tile_edges, cases)
    assert violated(bound("faulty", ShortOnce()), sizes.metadata_tile_edges, cases)
