"""Times the TTIR machine beside Triton's interpreter on the same cases; prints a table, never asserts.

Seconds are the process's own (CPU time), so that neighbours on the machine disturb less; all of it runs on one thread.

python benchmarks/engines.py [kernel_file.py] [--rounds N]
"""

from __future__ import annotations

import argparse
import contextlib
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


def once(module, case: tuple, context) -> tuple[float, int, int]:
    """Runs one case after its cache was filled anew; returns seconds, elements that are not exact, elements."""
    values = arguments(*case[1:])
    with context():
        begin = time.process_time()
        out = module.fused_sconv(*values)
        seconds = time.process_time() - begin
    return seconds, int((out != exact(*values)).sum()), out.numel()


class Interpreter:
    """Triton's interpreter in a process of its own, because Triton decides when it is imported; runs on demand."""

    def __init__(self, path: str) -> None:
        environment = {**os.environ, "TRITON_INTERPRET": "1"}
        command = [sys.executable, "-W", "ignore", __file__, path, "--as-interpreter"]
        self.process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def once(self, number: int) -> tuple[float, int, int]:
        """Runs case `number` there."""
        assert self.process.stdin is not None  # both are pipes
        assert self.process.stdout is not None
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        seconds, wrong, total = json.loads(self.process.stdout.readline())
        return seconds, wrong, total

    def end(self) -> None:
        self.process.communicate("")


def serve(module) -> None:
    """Runs the cases that standard input names by number, until it ends."""
    for line in sys.stdin:
        print(json.dumps(once(module, CASES[int(line)], contextlib.nullcontext)), flush=True)


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel", nargs="?", default="sconv", help="a kernel file, or sconv")
    parser.add_argument(
        "--rounds", type=int, default=7, help="of the interpreter; each has five of the machine beside it"
    )
    parser.add_argument("--as-interpreter", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    torch.set_num_threads(1)
    module = load(options.kernel)
    if options.as_interpreter:
        serve(module)
        return
    from properties.ttir import Machine

    interpreter = Interpreter(options.kernel)
    engines = {"machine, checks": Machine, "machine, none": lambda: Machine(checks=False)}
    print(f"{'case':6} {'engine':16} {'median ms':>10} {'best ms':>10} {'times faster':>13} {'inexact':>16}")
    for number, case in enumerate(CASES):
        seen: dict[str, list[tuple[float, int, int]]] = {"interpreter": [], **{name: [] for name in engines}}
        for context in engines.values():
            once(module, case, context)  # compiles
        # by turns, so that what else the computer does meets all alike
        for _ in range(options.rounds):
            seen["interpreter"].append(interpreter.once(number))
            for name, context in engines.items():
                seen[name] += [once(module, case, context) for _ in range(5)]
        middle = {name: median([seconds for seconds, *_ in runs]) for name, runs in seen.items()}
        for name, runs in seen.items():
            share = f"{max(wrong for _, wrong, _ in runs)} of {runs[0][2]}"
            times = f"{middle[name] * 1e3:10.2f} {min(runs)[0] * 1e3:10.2f}"
            print(f"{case[0]:6} {name:16} {times} {middle['interpreter'] / middle[name]:13.1f} {share:>16}")
        print(f"{case[0]:6} checks cost {middle['machine, checks'] / middle['machine, none']:.2f} times")
    interpreter.end()


if __name__ == "__main__":
    main()
