"""Benchmarks: what needs no GPU of them is tried, and what is compiled for shipping spills nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import compile_matrix
from benchmarks.workloads import STEPS, STREAMS, Step, Stream, layers, least_bytes, metadata
from reference.metadata import sequence_metadata
from sconv.tiles import CDNA, DEFAULT

ROOT = Path(__file__).parents[2]
SMALL = Stream("small", 2, 3, 1, 8, N=4)


@pytest.mark.parametrize("target", ["sm_90", "gfx942"])
def test_shipped_kernels_spill_nothing_and_move_128_bits(target):
    """Compiles the widest stream for an NVIDIA and an AMD device; the whole matrix is a command."""
    for stream, dtype, tile in compile_matrix.shipped(CDNA if target == "gfx942" else DEFAULT, short=True):
        one = compile_matrix.compiled(compile_matrix.TARGETS[target], stream, dtype, tile)
        assert one.spilled == 0
        assert max(one.loads) == max(one.stores) == 128


def test_spills_and_narrow_accesses_are_seen():
    """A tile of far too many elements for the registers, and one of two channels."""
    big = DEFAULT.many._replace(channels=2048)
    assert compile_matrix.compiled(compile_matrix.TARGETS["sm_90"], STREAMS[0], "bf16", big).spilled > 0
    narrow = DEFAULT.few._replace(channels=2)
    assert max(compile_matrix.compiled(compile_matrix.TARGETS["sm_90"], STREAMS[0], "bf16", narrow).stores) < 128


def test_workloads_are_forwards_that_the_contract_allows():
    """Each row has the request, the position and the slot that its request says; no slot is used twice."""
    for step in STEPS:
        where = metadata(SMALL, step, "cpu", seed=1)
        ends = torch.tensor((0, *step.lengths), dtype=torch.int32).cumsum(0).int()
        owners, first_rows = sequence_metadata(ends, len(step.lengths), step.rows)
        assert torch.equal(where["seq_idx"], torch.as_tensor(owners))
        assert torch.equal(where["query_start"], torch.as_tensor(first_rows))
        assert len(where["slot_mapping"].unique()) == step.rows
        blocks = where["block_table"][where["seq_idx"].long(), where["positions"] // SMALL.N]
        assert torch.equal(where["slot_mapping"], blocks.long() * SMALL.N + where["positions"] % SMALL.N)


def test_layers_share_metadata_alone():
    """Weights, inputs and caches are each layer's own."""
    first, second = layers(SMALL, Step("two", (1, 3)), 2, torch.bfloat16, "cpu")
    assert first["positions"] is second["positions"]
    assert not torch.equal(first["x"], second["x"])
    assert least_bytes(SMALL, Step("decode", (1,)), 2) == (3 + 3) * 6 * 2
    assert least_bytes(SMALL, Step("prefill", (9,)), 2) == (3 * 9 + 6) * 6 * 2


def test_without_a_gpu_a_line_says_so():
    """Times count only from a GPU."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = subprocess.run([sys.executable, "-m", "benchmarks"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("torch sees no CUDA GPU, and times count only from one")
