"""The machine around a launch: binding, caches, re-entrance, replay, errors, the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from triton.runtime.jit import JITFunction

from properties.ttir import Machine, Unsupported, cache, specialisations

ROOT = Path(__file__).resolve().parents[3]
FACTOR = tl.constexpr(3)


@triton.jit
def scaled(x_ptr, out_ptr, n, scale=2.0, BLOCK: tl.constexpr = 16):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offset, tl.load(x_ptr + offset, mask=offset < n) * scale, mask=offset < n)


@triton.jit
def strided(x_ptr, out_ptr, stride, FLAG: tl.constexpr):
    tl.store(out_ptr + tl.program_id(0), tl.load(x_ptr + tl.program_id(0) * stride) * FACTOR)


@triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.jit
def tuned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offset, tl.load(x_ptr + offset, mask=offset < n) + BLOCK, mask=offset < n)


@triton.heuristics({"BLOCK": lambda arguments: triton.next_power_of_2(arguments["n"])})
@triton.jit
def guessed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offset = tl.arange(0, BLOCK)
    tl.store(out_ptr + offset, tl.load(x_ptr + offset, mask=offset < n) + 1, mask=offset < n)


@triton.jit
def summed(values, out_ptr):
    tl.store(out_ptr, values[0] + values[1])


@triton.jit
def unknown(out_ptr):
    x = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [tl.arange(0, 8)], tl.int32, True, 1)
    tl.store(out_ptr + tl.arange(0, 8), x)


@triton.jit(noinline=True)
def _called(x):
    if x > 2:
        return x * 10
    return x


@triton.jit
def calling(x_ptr, out_ptr):
    tl.store(out_ptr + tl.program_id(0), _called(tl.load(x_ptr + tl.program_id(0))))


@triton.jit
def chosen_source(x_ptr, y_ptr, out_ptr):
    offset = tl.arange(0, 8)
    source = tl.where(offset % 2 == 0, x_ptr + offset, y_ptr + offset)
    tl.store(out_ptr + offset, tl.load(source))


@triton.jit
def contracted(x_ptr, y_ptr, z_ptr, out_ptr):
    offset = tl.arange(0, 64)
    x, y = tl.load(x_ptr + offset), tl.load(y_ptr + offset)
    tl.store(out_ptr + offset, x * y + tl.load(z_ptr + offset))


def test_binding():
    """Defaults, keywords, callable grids and launch options are bound as Triton binds them."""
    x, out = torch.arange(40.0), torch.zeros(40)
    with Machine() as machine:
        scaled[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, out, n=40, num_warps=2, num_stages=1)
        assert torch.equal(out, 2 * x)
        scaled[(2,)](x, out, 40, scale=0.5, BLOCK=32)
    assert torch.equal(out, x / 2)
    assert machine.hazards == []
    first, second = machine.launches
    assert (first.kernel, first.grid, second.grid) == ("scaled", (3, 1, 1), (2, 1, 1))
    assert first.scalars == {"n": 40, "scale": 2.0}
    assert first.tensors["x_ptr"] is x
    assert machine.specialisations == 2


def test_autotune_and_heuristics():
    """An autotuned kernel runs with its first configuration, and heuristics are computed."""
    x, out = torch.arange(40.0), torch.zeros(40)
    with Machine() as machine:
        tuned[lambda meta: (triton.cdiv(40, meta["BLOCK"]),)](x, out, 40)
        assert torch.equal(out, x + 16)
        guessed[(1,)](x, out, 40)
    assert torch.equal(out, x + 1)
    assert machine.hazards == []


def test_another_configuration():
    """A machine runs the configuration that it was asked for, and counts past the last from the first."""
    for number, block in ((0, 16), (1, 32), (2, 16)):
        out = torch.zeros(40)
        with Machine(configuration=number):
            tuned[lambda meta: (triton.cdiv(40, meta["BLOCK"]),)](torch.zeros(40), out, 40)
        assert torch.equal(out, torch.full((40,), float(block)))


def test_tuning_leaves_no_trace():
    """What the machine takes for the best configuration is forgotten when it ends."""
    tuned.cache.clear()
    with Machine():
        tuned[(3,)](torch.zeros(40), torch.zeros(40), 40)
    assert tuned.cache == {}


def test_tuple_argument():
    """A tuple argument arrives as its members."""
    out = torch.zeros(1, dtype=torch.int32)
    with Machine():
        summed[(1,)]((5, 6), out)
    assert out.item() == 11


def test_specialisation_drops_divisibility():
    """Multiples of 16 and their neighbours share TTIR; 1 and flags do not."""
    x, out = torch.zeros(64), torch.zeros(2)
    with Machine() as machine:
        for stride in (16, 17, 32, 3):
            strided[(2,)](x, out, stride, True)
        assert machine.specialisations == 1
        strided[(2,)](x, out, 1, True)
        assert machine.specialisations == 2
        strided[(2,)](x, out, 16, False)
        assert machine.specialisations == 3


def test_divisibility_changes_no_operation():
    """TTIR of a divisible and an indivisible launch differs in argument attributes only."""
    from properties.ttir import frontend
    from properties.ttir.parse import parse

    texts = []
    for stride in (16, 17):
        bound = frontend.bind(strided, (torch.zeros(64), torch.zeros(2), stride, True), {})
        texts.append(bound.compile())
    assert texts[0] != texts[1]
    assert parse(texts[0]) == parse(texts[1])


def test_disk_cache(tmp_path, monkeypatch):
    """A second process-like start reads the parsed program from disk, and a damaged file is replaced."""
    monkeypatch.setenv("TTIR_CACHE_DIR", str(tmp_path))
    x, out = torch.arange(4.0), torch.zeros(4)
    for round_number, expected in enumerate((1, 0, 1)):
        cache._programs.clear()
        before = cache.compiled()
        with Machine():
            scaled[(1,)](x, out, 4)
        assert cache.compiled() - before == expected
        (file,) = tmp_path.iterdir()
        if round_number == 1:
            file.write_bytes(file.read_bytes()[:50])
    assert specialisations() == 1


def test_reentrance():
    """The innermost machine gets a launch, and Triton's own method is back at the end."""
    original = JITFunction.run
    x, out = torch.arange(4.0), torch.zeros(4)
    with Machine() as outer:
        with Machine() as inner, inner:
            scaled[(1,)](x, out, 4)
        scaled[(1,)](x, out, 4)
    assert (len(outer.launches), len(inner.launches)) == (1, 1)
    assert JITFunction.run is original
    with pytest.raises(RuntimeError, match="stop"), Machine():
        raise RuntimeError("stop")
    assert JITFunction.run is original


def test_interpreter_is_refused(monkeypatch):
    """With Triton's interpreter switched on, the machine would see nothing, and says so."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with pytest.raises(RuntimeError, match="TRITON_INTERPRET = 1"), Machine():
        pass


def test_replay():
    """A recorded launch runs again on refilled buffers, with the scalars it had."""
    x, out = torch.arange(4.0), torch.zeros(4)
    with Machine() as machine:
        scaled[(1,)](x, out, 3)
    x += 10
    machine.replay()
    assert out.tolist() == [20, 22, 24, 0]


def test_unsupported():
    """What the machine does not know ends in one line: operation, kernel, source line."""
    with pytest.raises(Unsupported) as caught, Machine():
        unknown[(1,)](torch.zeros(8, dtype=torch.int32))
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith("tt.elementwise_inline_asm in kernel unknown at ")
    assert f"{__file__}:" in text
    assert "inline_asm_elementwise" in text


def test_wrong_argument():
    """A pointer that is no CPU tensor is refused by name."""
    with pytest.raises(Unsupported, match=r"argument x_ptr is on meta"), Machine():
        scaled[(1,)](torch.zeros(4, device="meta"), torch.zeros(4), 4)


def test_call_with_early_return():
    """A function that is not inlined may return early, program by program."""
    x, out = torch.arange(6), torch.zeros(6, dtype=torch.int64)
    with Machine() as machine:
        calling[(6,)](x, out)
    assert machine.hazards == []
    assert out.tolist() == [0, 1, 2, 30, 40, 50]


def test_pointers_into_two_tensors():
    """A select between pointers reads each lane from its own tensor and checks it there."""
    x, y, out = torch.arange(8.0), torch.arange(8.0) + 100, torch.zeros(8)
    with Machine() as machine:
        chosen_source[(1,)](x, y, out)
    assert machine.hazards == []
    assert out.tolist() == [0, 101, 2, 103, 4, 105, 6, 107]
    with Machine() as machine:
        chosen_source[(1,)](x, y[:6], out)
    (hazard,) = machine.hazards
    assert (hazard.kind, hazard.tensor, hazard.lanes) == ("out-of-bounds read", "y_ptr", ((7,),))


def test_contraction_is_a_switch():
    """With contraction a product and a sum round once, without it twice."""
    generator = torch.Generator().manual_seed(0)
    x, y, z = (torch.randn(64, generator=generator) for _ in range(3))
    once, twice = torch.zeros(64), torch.zeros(64)
    with Machine():
        contracted[(1,)](x, y, z, once)
    with Machine(fma=False):
        contracted[(1,)](x, y, z, twice)
    assert torch.equal(once, (x.double() * y.double() + z.double()).float())
    assert torch.equal(twice, x * y + z)
    assert not torch.equal(once, twice)


def run_script(tmp_path, body):
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nfrom tests.meta.ttir.hazard_kernels import write_outside\n"
        f"write_outside[(1,)](torch.zeros(5), 5, HAS={body})\nprint('done')\n"
    )
    command = [sys.executable, "-W", "ignore", "-m", "properties.ttir", str(script)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_command_line(tmp_path):
    """The command runs a script, prints its hazards, and exits 1 if there are any, else 0."""
    bad = run_script(tmp_path, True)
    assert bad.returncode == 1, bad.stderr
    assert bad.stdout.startswith("done\nout-of-bounds write: out_ptr element 5, 3 lanes")
    assert "1 hazard in 1 launch of 1 specialisation" in bad.stderr
    good = run_script(tmp_path, False)
    assert (good.returncode, good.stdout) == (0, "done\n"), good.stderr
