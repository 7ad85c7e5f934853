"""Times kernels of the short convolution on a GPU: python -m benchmarks [KERNEL ...] [--json FILE] (README.md)."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable
from dataclasses import astuple
from functools import partial
from importlib.metadata import version
from typing import Any

import torch

from benchmarks import contenders
from benchmarks.timing import L2_BYTES, Time, alone, chained
from benchmarks.workloads import STEPS, STREAMS, Step, Stream, layers, least_bytes
from properties.candidate import BadCandidate

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
MOST_BYTES = 40e9  # of all layers that rotate
SETS = (2, 12)  # layers that rotate: at least, at most


def main() -> int:
    """Runs what is asked for, prints each row as it is measured; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("kernels", nargs="*", default=["sconv"], help="kernel files or modules; the first is compared")
    parser.add_argument("--streams", default="", metavar="TEXT", help="only streams whose name contains it")
    parser.add_argument("--steps", default="", metavar="TEXT", help="only steps whose name contains it")
    parser.add_argument("--dtype", default="bf16", choices=DTYPES)
    parser.add_argument("--json", metavar="FILE", help="write every figure there")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("torch sees no CUDA GPU, and times count only from one")
    try:
        kernels = {target: contenders.load(target) for target in options.kernels}
    except BadCandidate as error:
        parser.error(str(error))
    streams = [one for one in STREAMS if options.streams in one.name]
    steps = [one for one in STEPS if options.steps in one.name]
    if not streams or not steps:
        parser.error(f"no stream or step is named so; there are {', '.join(one.name for one in (*STREAMS, *STEPS))}")
    environment = {
        "device": torch.cuda.get_device_name(0),
        **{name: version(name) for name in ("torch", "triton")},
        "python": platform.python_version(),
        "dtype": options.dtype,
    }
    print(", ".join(f"{name} {value}" for name, value in environment.items()), flush=True)
    rows: list[dict[str, Any]] = []

    def tell(row: dict[str, Any]) -> None:
        rows.append(row)
        print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)

    tell({"step": "empty kernel", "alone": alone([contenders.nothing] * 20),
          "chained": chained([contenders.nothing] * 20, 100)})  # fmt: skip
    for stream in streams:
        for step in steps:
            _measure(kernels, stream, step, DTYPES[options.dtype], tell)
            torch.cuda.empty_cache()
    if set(steps) == set(STEPS):
        _metadata(kernels, tell)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"environment": environment, "rows": rows}, file, indent=1, default=astuple)  # a Time
    return 0


def _measure(
    kernels: dict[str, contenders.Operators],
    stream: Stream,
    step: Step,
    dtype: torch.dtype,
    tell: Callable[[dict[str, Any]], None],
) -> None:
    """All contenders on one step of one stream, in turn, on the same tensors."""
    least = least_bytes(stream, step, dtype.itemsize)
    cache = sum(-(-length // stream.N) + 14 for length in step.lengths) * stream.heads * stream.N * stream.D
    fewest, most = SETS
    count = min(most, max(fewest, round(2 * L2_BYTES / least)), max(1, round(MOST_BYTES / (cache * dtype.itemsize))))
    sets = layers(stream, step, count, dtype, "cuda")
    where = {"stream": stream.name, "step": step.name, "T": step.rows, "C": stream.channels}
    prefill = step.rows >= 1024
    roof = None
    if prefill:
        roof = min((chained(_roof(sets, *shape)) for shape in contenders.ROOF_BLOCKS), key=lambda time: time.median)
        tell({**where, "kernel": "one read, two writes", **_rated(roof, least, roof)})
    first: Time | None = None
    for name, operators in kernels.items():
        calls = [partial(operators["fused_sconv"], **one) for one in sets]
        time = chained(calls)
        row = {**where, "kernel": name, **_rated(time, least, roof)}
        if not prefill:
            row["alone"] = alone(calls)
        if first is not None:
            row["of the first"] = _compared(time, first)
        first = first or time
        tell(row)
    others = {"conv1d": contenders.conv1d, "causal-conv1d": contenders.causal_conv1d} if prefill else {}
    if step.rows == len(step.lengths):
        others = {"causal-conv1d": contenders.causal_conv1d_update}
    for name, make in others.items():
        dense = [call for one in sets[:2] if (call := make(one))]
        if dense:
            tell({**where, "kernel": name, **_rated(chained(dense), least, roof)})


def _roof(sets: list[dict[str, Any]], block: int, warps: int) -> list[Callable[[], Any]]:
    twins = [(torch.empty_like(one["x"]), torch.empty_like(one["x"])) for one in sets]
    return [
        partial(contenders.one_read_two_writes, one["x"], *twin, block, warps)
        for one, twin in zip(sets, twins, strict=True)
    ]


def _metadata(kernels: dict[str, contenders.Operators], tell: Callable[[dict[str, Any]], None]) -> None:
    for rows, requests in ((64, 64), (512, 512), (8192, 64), (8192, 1024)):
        ends = torch.arange(requests + 1, dtype=torch.int32, device="cuda") * (rows // requests)
        starts = [ends.clone() for _ in range(20)]
        buffers = [torch.empty(rows, dtype=torch.int32, device="cuda") for _ in range(2)]
        for name, operators in kernels.items():
            calls = [partial(operators["sconv_seq_metadata"], start, requests, rows, *buffers) for start in starts]
            tell({"step": f"metadata {rows} rows, {requests} requests", "kernel": name,
                  "alone": alone(calls), "chained": chained(calls, 100)})  # fmt: skip


def _rated(time: Time, least: int, roof: Time | None) -> dict[str, Any]:
    row: dict[str, Any] = {"us": time, "TB/s": round(least / time.median / 1e6, 3)}
    if roof is not None:
        row["of the roof"] = round(roof.median / time.median, 3)
    return row


def _compared(time: Time, first: Time) -> str:
    """How many times the first kernel's time; a difference below both spreads is none."""
    if abs(time.median - first.median) <= time.spread + first.spread:
        return "no difference"
    return f"{time.median / first.median:.2f} times"


if __name__ == "__main__":
    sys.exit(main())
