"""Times the TTIR machine beside Triton's interpreter on the same cases; prints a table, never asserts.

Seconds are the process's own (CPU time), so that neighbours on the machine disturb less; all of it runs on one thread.

python benchmarks/engines.py [kernel_file.py] [--rounds N]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
import types
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
# name, T, H, ws, N, W: small enough to be all overhead, and a prefill of a real layer's width
CASES = (("small", 12, 2, 4, 4, 4), ("large", 84, 8, 128, 16, 4))


def load(path: str):
    """Executes a kernel file, with a stand-in for vllm.triton_utils where vLLM is absent."""
    if importlib.util.find_spec("vllm") is None:
        import triton
        import triton.language as tl

        package, module = types.ModuleType("vllm"), types.ModuleType("vllm.triton_utils")
        module.tl, module.triton = tl, triton  # type: ignore[attr-defined]  # a stand-in module
        sys.modules.update({"vllm": package, "vllm.triton_utils": module})
    if path == "sconv":
        return importlib.import_module("sconv")
    spec = importlib.util.spec_from_file_location("benchmarked", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not a Python file")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def arguments(T: int, H: int, ws: int, N: int, W: int):
    """Builds one request of T rows after 8 cached positions, of integers whose sums are exact in fp32."""
    generator = torch.Generator().manual_seed(T)
    C, blocks, start = H * ws, (T + 8) // N + 3, 8
    x = torch.randint(-8, 9, (T, C), generator=generator).bfloat16()
    weight = torch.randint(-8, 9, (C, W), generator=generator).bfloat16()
    cache = torch.randint(-8, 9, (blocks, H, N, 2 * ws), generator=generator).bfloat16()
    table = torch.randperm(blocks, generator=generator)[None].int()
    positions = torch.arange(T) + start
    slots = table[0].long()[positions // N] * N + positions % N
    zeros = torch.zeros(T, dtype=torch.int32)
    return x, weight, cache, positions, table, zeros, slots, zeros.clone(), 3, ws, N


def exact(x, weight, cache, positions, table, seq_idx, slots, query_start, off_s, ws, N) -> torch.Tensor:
    """Returns the dense result in float64, rounded once."""
    T, C = x.shape
    W = weight.shape[1]
    old = positions[0] - (W - 1) + torch.arange(W - 1)
    taps = cache[table[0].long()[old // N], :, old % N, off_s : off_s + ws].reshape(W - 1, C)
    history = torch.cat([taps, x]).double()
    total = sum(weight[:, k].double() * history[k : k + T] for k in range(W))
    return (total + x.double()).bfloat16()


def measure(module, rounds: int, context) -> list[dict]:
    """Times every case, and counts the elements that differ from the exact result."""
    found = []
    for name, *sizes in CASES:
        values = arguments(*sizes)
        want = exact(*values)
        seconds = []
        with context():
            for _ in range(rounds):
                values[2].copy_(arguments(*sizes)[2])
                begin = time.process_time()
                out = module.fused_sconv(*values)
                seconds.append(time.process_time() - begin)
        wrong = int((out != want).sum())
        ordered = sorted(seconds)
        found.append(
            {
                "case": name,
                "median": ordered[rounds // 2],
                "best": ordered[0],
                "wrong": wrong,
                "of": out.numel(),
            }
        )
    return found


def interpreter(path: str) -> list[dict]:
    """Runs the cases in a process of their own, because Triton decides when it is imported."""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-W", "ignore", __file__, path, "--as-interpreter"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel", nargs="?", default="sconv", help="a kernel file, or sconv")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--as-interpreter", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    torch.set_num_threads(1)
    module = load(options.kernel)
    if options.as_interpreter:
        import contextlib

        print(json.dumps(measure(module, 3, contextlib.nullcontext)))
        return
    from properties.ttir import Machine

    slow = interpreter(options.kernel)
    checked = measure(module, options.rounds, Machine)
    plain = measure(module, options.rounds, lambda: Machine(checks=False))
    print(f"{'case':6} {'engine':16} {'median ms':>10} {'best ms':>10} {'times faster':>13} {'inexact':>16}")
    for one, with_checks, without in zip(slow, checked, plain, strict=True):
        for engine, row in (
            ("interpreter", one),
            ("machine, checks", with_checks),
            ("machine, none", without),
        ):
            faster = one["median"] / row["median"]
            share = f"{row['wrong']} of {row['of']}"
            times = f"{row['median'] * 1e3:10.2f} {row['best'] * 1e3:10.2f}"
            print(f"{row['case']:6} {engine:16} {times} {faster:13.1f} {share:>16}")
        print(f"{one['case']:6} checks cost {with_checks['median'] / without['median']:.2f} times")


if __name__ == "__main__":
    main()
