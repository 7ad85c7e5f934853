"""Races planted in a copy of the upstream kernel, which leave every value equal, are found by their line."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from properties.ttir import Machine

UPSTREAM = Path(__file__).resolve().parents[4] / "shared" / "upstream" / "inkling_sconv.py"
pytestmark = pytest.mark.skipif(not UPSTREAM.exists(), reason=f"{UPSTREAM} is not there")

VERSION = tuple(int(number) for number in triton.__version__.split(".")[:2])
H, WS, N, W, OFF_S, D = 2, 4, 4, 4, 3, 12

# name, the text that occurs once, what takes its place, kinds that must be seen, a part of each one's line
RACES = {
    "taps re-read from the cache": (
        "cached = in_win & (row < qstart)",
        "cached, intra = in_win, in_win & (src < 0)",
        {"read after write": "cv = tl.load(", "read/write conflict": "cv = tl.load("},
    ),
    "tiles overlap by one row": (
        "toff = pid_t * BT + tl.arange(0, BT)",
        "toff = pid_t * (BT - 1) + tl.arange(0, BT)",
        # the output's store; of a statement over several lines Triton before 3.8 names an inner one
        {"write/write conflict": "tl.store(" if VERSION >= (3, 8) else "acc.to("},
    ),
    "PAD rows go to slot 0": (
        "tl.store(dst, xv, mask=tc_mask & valid[:, None])",
        "tl.store(dst, xv, mask=tc_mask)",
        {"duplicate lanes": "tl.store(dst, xv, mask=tc_mask)"},
    ),
}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Returns a function that executes a changed copy of the upstream file."""
    module = types.ModuleType("vllm.triton_utils")
    module.__dict__.update(tl=tl, triton=triton)
    monkeypatch.setitem(sys.modules, "vllm", types.ModuleType("vllm"))
    monkeypatch.setitem(sys.modules, "vllm.triton_utils", module)

    def execute(old="", new=""):
        text = UPSTREAM.read_text()
        if old:
            assert text.count(old) == 1
            text = text.replace(old, new)
        path = tmp_path / f"copy_{abs(hash(new))}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        copy = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(copy)
        return copy

    return execute


def batch():
    """Builds 12 rows of one request after 5 cached ones, then 3 rows of padding; block 0 is no request's."""
    generator = torch.Generator().manual_seed(0)
    start, rows, pads = 5, 12, 3
    T = rows + pads
    table = torch.tensor([[3, 1, 5, 2, 4]], dtype=torch.int32)
    position = torch.arange(start, start + T)
    slot = table[0].long()[(position // N).clamp(max=4)] * N + position % N
    position[rows:], slot[rows:] = 0, -1
    zeros = torch.zeros(T, dtype=torch.int32)
    x = torch.randint(-3, 4, (T, H * WS), generator=generator).bfloat16()
    weight = torch.randint(-3, 4, (H * WS, W), generator=generator).bfloat16()
    cache = torch.randint(-3, 4, (6, H, N, D), generator=generator).bfloat16()
    return x, weight, cache, position, table, zeros, slot, zeros.clone(), OFF_S, WS, N


def run(module):
    values = batch()
    with Machine() as machine:
        out = module.fused_sconv(*values)
    return out, values[2], machine.hazards


def test_upstream_is_clean(load):
    """The file as it is shows no hazard."""
    assert run(load())[2] == []


@pytest.mark.parametrize("name", RACES)
def test_race(load, name):
    """A race changes no value, and is told with kind and line."""
    old, new, wanted = RACES[name]
    out, cache, _ = run(load())
    other_out, other_cache, hazards = run(load(old, new))
    assert torch.equal(out, other_out)
    assert torch.equal(cache[1:], other_cache[1:])
    found = {hazard.kind: hazard.source for hazard in hazards}
    for kind, part in wanted.items():
        assert kind in found, hazards
        assert part in found[kind]
