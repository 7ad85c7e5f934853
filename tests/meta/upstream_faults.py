"""The upstream kernel with one line changed, and who should see it."""

from __future__ import annotations

import re
from pathlib import Path

UPSTREAM = Path(__file__).parents[3] / "shared/upstream/inkling_sconv.py"

# name: (what the line is, what it becomes, groups of which at least one must be violated)
UPSTREAM_FAULTS: dict[str, tuple[str, str, set[str]]] = {
    "tap order reversed": ("iw * stride_w_w", "(W - 1 - iw) * stride_w_w", {"values"}),
    "block_size replaced by W": ("        block_size,\n        W=W,", "        W,\n        W=W,", {"values", "cache"}),
    "PAD rows stored to slot 0": (
        "tl.store(dst, xv, mask=tc_mask & valid[:, None])", "tl.store(dst, xv, mask=tc_mask)", {"cache", "hazards"},
    ),
    "query_start compared off by one": ("(row >= qstart)", "(row > qstart)", {"values"}),
    "a lost mask": (
        "pos = tl.load(pos_ptr + toff, mask=t_mask, other=0)", "pos = tl.load(pos_ptr + toff)", {"hazards"},
    ),
    "a lost mask in the metadata": (
        "tl.where(actual, lo, 0), mask=padded)", "tl.where(actual, lo, 0))", {"metadata", "hazards"},
    ),
    "the residual dropped": ("        acc += xv.to(tl.float32)", "        acc += 0.0", {"values"}),
    "the residual of the next channel": (
        "        acc += xv.to(tl.float32)",
        "        other = tl.minimum(coff + 1, C - 1)[None, :]\n"
        "        acc += tl.load(x_ptr + toff[:, None] * stride_x_t + other, mask=tc_mask).to(tl.float32)", {"values"},
    ),
    "the activation after the residual": (
        "        acc = acc * tl.sigmoid(acc)\n    if USE_RESIDUAL:\n        acc += xv.to(tl.float32)",
        "        acc += xv.to(tl.float32) if USE_RESIDUAL else 0.0\n        acc = acc * tl.sigmoid(acc)\n"
        "    elif USE_RESIDUAL:\n        acc += xv.to(tl.float32)", {"values"},
    ),
    "negative taps dropped": ("acc += (xt + cv) * wv", "acc += tl.maximum(xt + cv, 0.0) * wv", {"values"}),
    "the table's first row for all": ("req * stride_bt_r", "0 * stride_bt_r", {"values"}),
    "the stream offset ignored on read": (
        "+ cd[None, :] * stride_c_d\n        )\n        cv", "+ (coff % WS)[None, :]\n        )\n        cv",
        {"values", "cache"},
    ),
    "32-bit block offsets": ("other=0\n        ).to(tl.int64)", "other=0\n        )", {"sizes", "hazards"}),
    "one binary-search step fewer": ("(num_reqs - 1).bit_length()", "(num_reqs - 1).bit_length() - 1", {"metadata"}),
    "metadata of dead lanes read beyond the array": (
        "query_start = tl.load(qsl_ptr + lo)",
        "query_start = tl.load(qsl_ptr + tl.where(padded, lo, num_reqs + 9))", {"hazards"},
    ),
    "taps re-read from the cache": ("row < qstart)", "row < toff)", {"hazards"}),
    "tiles that overlap by one row": ("toff = pid_t * BT +", "toff = pid_t * (BT - 1) +", {"hazards"}),
}  # fmt: skip  # one fault a line reads as the table it is


def change(folder: Path, line: str, instead: str) -> Path:
    """Writes the upstream file with a line changed."""
    path = folder / "kernel.py"
    source = UPSTREAM.read_text()
    assert source.count(line) == 1
    path.write_text(source.replace(line, instead))
    return path


def changed(name: str, folder: Path) -> Path:
    """Writes the upstream file with the named line changed, and returns its path."""
    old, new, _ = UPSTREAM_FAULTS[name]
    source = UPSTREAM.read_text()
    assert source.count(old) == 1, f"the line of {name!r} occurs {source.count(old)} times"
    path = folder / f"{re.sub(r'[^a-z0-9]+', '_', name.lower())}.py"
    path.write_text(source.replace(old, new))
    return path
