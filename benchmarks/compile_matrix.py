"""What compilers make of every shipped specialisation of `fused_sconv`, without a GPU: a table, one line each.

python -m benchmarks.compile_matrix [--targets sm_90,gfx942] [--short]

Registers, spilled bytes and the widths of global accesses are read from the assembly: the main path must spill nothing
and move 128 bits at once where alignment allows.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from benchmarks.workloads import STREAMS, Stream, W
from sconv.fused_kernel import fused_sconv_kernel
from sconv.tiles import CDNA, DEFAULT, Tile, Tiles, fitted

TARGETS = {
    "sm_80": GPUTarget("cuda", 80, 32),
    "sm_90": GPUTarget("cuda", 90, 32),
    "sm_100": GPUTarget("cuda", 100, 32),
    "sm_120": GPUTarget("cuda", 120, 32),
    "gfx942": GPUTarget("hip", "gfx942", 64),
    "gfx950": GPUTarget("hip", "gfx950", 64),
}
ITEMSIZE = {"bf16": 2, "fp16": 2, "fp32": 4}
CUOBJDUMP = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
# Pointers whose alignment is worth a specialisation, and that a server's tensors have.
ALIGNED = ("x_ptr", "weight_ptr", "cache_ptr", "out_ptr")


@dataclass(frozen=True)
class Compiled:
    """One specialisation as a compiler made it; `widths` counts global accesses by bits, loads and stores apart."""

    registers: int
    spilled: int
    loads: Counter[int]
    stores: Counter[int]


def specialisation(stream: Stream, dtype: str, tile: Tile, **options: bool) -> tuple[dict, dict, dict]:
    """Signature, constants and attributes of a stream's kernel, as Triton's launcher would find them."""
    constants = {
        "OFF_S": stream.off_s, "WS": stream.ws, "H": stream.heads, "W": W,
        "USE_SILU": False, "USE_RESIDUAL": True, "N_IS_POWER": True, "PACKED_WEIGHT": True, **options,
        "BLOCK_T": tile.rows, "AT_ONCE": tile.at_once, "BLOCK_C": tile.channels, "MAY_BE_STEADY": tile.steady,
        "stride_weight_tap": 1,
    }  # fmt: skip  # grouped by role
    pointers = {
        **dict.fromkeys(ALIGNED, f"*{dtype}"),
        **dict.fromkeys(("position_ptr", "slot_ptr"), "*i64"),
        **dict.fromkeys(("block_table_ptr", "request_ptr", "first_row_ptr"), "*i32"),
    }
    aligned = {*ALIGNED, "stride_x", "stride_cache_block", "stride_cache_head", "stride_cache_token"}
    names = fused_sconv_kernel.arg_names
    signature = {name: "constexpr" if name in constants else pointers.get(name, "i32") for name in names}
    fixed = {(place,): constants[name] for place, name in enumerate(names) if name in constants}
    attributes = {(place,): [["tt.divisibility", 16]] for place, name in enumerate(names) if name in aligned}
    return signature, fixed, attributes


def compiled(target: GPUTarget, stream: Stream, dtype: str, tile: Tile, **options: bool) -> Compiled:
    """Compiles one specialisation and reads its assembly."""
    source = ASTSource(fused_sconv_kernel, *specialisation(stream, dtype, tile, **options))
    result = triton.compile(source, target=target, options={"num_warps": tile.warps})
    return _of_ptx(result.asm) if target.backend == "cuda" else _of_amdgcn(result.asm)


def _of_ptx(asm: Any) -> Compiled:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        Path(cubin.name).write_bytes(asm["cubin"])
        usage = subprocess.run(
            [CUOBJDUMP, "--dump-resource-usage", cubin.name], capture_output=True, text=True, check=True
        ).stdout
    found = re.search(r"REG:(\d+) STACK:(\d+)", usage)
    assert found, usage
    widths = {}
    for kind in ("ld", "st"):
        bits: Counter[int] = Counter()
        for vector, one in re.findall(rf"{kind}\.global[\w.:]*?(?:\.v(\d))?\.[bfus](\d+)", asm["ptx"]):
            bits[int(vector or 1) * int(one)] += 1
        widths[kind] = bits
    return Compiled(int(found[1]), int(found[2]), widths["ld"], widths["st"])


_DWORDS = {"ubyte": 8, "byte": 8, "ushort": 16, "short": 16, "dword": 32}


def _of_amdgcn(asm: Any) -> Compiled:
    text = asm["amdgcn"]
    widths = {}
    for kind in ("load", "store"):
        bits: Counter[int] = Counter()
        for word, count in re.findall(rf"(?:global|buffer|flat)_{kind}_([a-z]+?)(?:x(\d))?(?:_d16\w*)?\b", text):
            bits[_DWORDS.get(word, 32) * int(count or 1)] += 1
        widths[kind] = bits
    registers = re.search(r"\.vgpr_count:\s+(\d+)", text)
    spilled = re.search(r"\.vgpr_spill_count:\s+(\d+)", text)
    assert registers, text[-2000:]
    assert spilled, text[-2000:]
    return Compiled(int(registers[1]), 4 * int(spilled[1]), widths["load"], widths["store"])


def shipped(tiles: Tiles, short: bool) -> Iterator[tuple[Stream, str, Tile]]:
    """Streams, dtypes and tiles that a server may launch; in short, the widest stream in bf16."""
    for stream in STREAMS[:1] if short else STREAMS:
        for dtype in ("bf16",) if short else ITEMSIZE:
            for tile in (tiles.few, tiles.many):
                yield stream, dtype, fitted(tile, stream.channels, ITEMSIZE[dtype])


def widest(target: GPUTarget, dtype: str, tile: Tile) -> int:
    """Bits that a lane can move at once: 128, or its share of the elements done at once where that is less."""
    return min(128, 8 * ITEMSIZE[dtype] * tile.at_once * tile.channels // (tile.warps * target.warp_size))


def _said(widths: Counter[int]) -> str:
    return ", ".join(f"{bits}: {count}" for bits, count in sorted(widths.items(), reverse=True))


def main() -> int:
    """Prints the table; returns 1 where something spills or is narrow."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compile_matrix", description=__doc__)
    parser.add_argument("--targets", default=",".join(TARGETS), metavar="A,B", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--short", action="store_true", help="only the widest stream in bf16")
    options = parser.parse_args()
    if unknown := sorted(set(options.targets.split(",")) - set(TARGETS)):
        parser.error(f"unknown target {', '.join(unknown)}; allowed: {', '.join(TARGETS)}")
    print("| target | stream | dtype | rows x channels | registers | spilled bytes | loads by bits | stores by bits |")
    print("|---|---|---|---|--:|--:|---|---|")
    is_good = True
    for name in options.targets.split(","):
        tiles = CDNA if name.startswith("gfx") else DEFAULT
        for stream, dtype, tile in shipped(tiles, options.short):
            one = compiled(TARGETS[name], stream, dtype, tile)
            is_good &= one.spilled == 0 and min(max(one.loads), max(one.stores)) >= widest(TARGETS[name], dtype, tile)
            loads, stores = (_said(widths) for widths in (one.loads, one.stores))
            print(f"| {name} | {stream.name} | {dtype} | {tile.rows} x {tile.channels} | {one.registers} "
                  f"| {one.spilled} | {loads} | {stores} |", flush=True)  # fmt: skip
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
