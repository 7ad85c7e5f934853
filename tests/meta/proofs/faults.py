"""Kernels with one line changed: what a proof must deny, and what it must leave to tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.meta.candidates import tiled
from tests.meta.upstream_faults import UPSTREAM, UPSTREAM_FAULTS

TILED = str(tiled.__file__)  # a fixture, whose lines no tuning of sconv/ changes
PATH = Path(TILED)


@dataclass(frozen=True)
class Fault:
    """One change of a kernel file, and the obligation that sees it."""

    source: Path
    old: str
    new: str
    obligation: str

    def write(self, name: str, folder: Path) -> Path:
        """Writes the changed file and returns its path."""
        text = self.source.read_text()
        assert text.count(self.old) == 1, f"the line of {name!r} occurs {text.count(self.old)} times"
        path = folder / f"{re.sub(r'[^a-z0-9]+', '_', name.lower())}.py"
        path.write_text(text.replace(self.old, self.new))
        return path


def _known(name: str, obligation: str) -> Fault:
    old, new, _ = UPSTREAM_FAULTS[name]
    return Fault(UPSTREAM, old, new, obligation)


# Faults of indices and masks: each is violated, with a case.
INDEXING: dict[str, Fault] = {
    "tap order reversed": _known("tap order reversed", "taps"),
    "block_size replaced by W": _known("block_size replaced by W", "accesses"),
    "PAD rows stored to slot 0": _known("PAD rows stored to slot 0", "taps"),
    "query_start compared off by one": _known("query_start compared off by one", "taps"),
    "a lost mask": _known("a lost mask", "accesses"),
    "the stream offset ignored on read": _known("the stream offset ignored on read", "taps"),
    "32-bit block offsets": _known("32-bit block offsets", "wraps"),
    "taps re-read from the cache": _known("taps re-read from the cache", "conflicts"),
    "tiles that overlap by one row": _known("tiles that overlap by one row", "conflicts"),
    "slots without a mask": Fault(
        UPSTREAM, "slot_ptr + toff, mask=t_mask, other=-1)", "slot_ptr + toff)", "accesses"),
    "requests without a mask": Fault(
        UPSTREAM, "seq_idx_ptr + toff, mask=t_mask, other=0)", "seq_idx_ptr + toff)", "accesses"),
    "one row too many": Fault(UPSTREAM, "t_mask = toff < T", "t_mask = toff <= T", "accesses"),
    "one channel too many": Fault(UPSTREAM, "c_mask = coff < C", "c_mask = coff <= C", "accesses"),
    "weights without a mask": Fault(UPSTREAM, "iw * stride_w_w, mask=c_mask, other=0.0", "iw * stride_w_w", "accesses"),
    "taps before position 0": Fault(UPSTREAM, "valid & (src >= 0)", "valid & (src >= -1)", "taps"),
    "position 0 is no tap": Fault(UPSTREAM, "valid & (src >= 0)", "valid & (src > 0)", "taps"),
    "slot 0 is padding": Fault(UPSTREAM, "valid = slot >= 0", "valid = slot > 0", "taps"),
    "only -1 is padding": Fault(UPSTREAM, "valid = slot >= 0", "valid = slot != -1", "taps"),
    "the last head lost": Fault(UPSTREAM, "coff // WS, H - 1)", "coff // WS, H - 2)", "taps"),
    "channels run over heads": Fault(UPSTREAM, "cd = OFF_S + coff % WS", "cd = OFF_S + coff", "taps"),
    "positions off by one": Fault(UPSTREAM, "src = pos - (W - 1) + iw", "src = pos - W + iw", "taps"),
    "rows off by one": Fault(UPSTREAM, "row = toff - (W - 1) + iw", "row = toff - W + iw", "taps"),
    "the table's first request": Fault(UPSTREAM, "req * stride_bt_r + safe_lblk", "safe_lblk", "taps"),
    "the last table column lost": Fault(UPSTREAM, "safe_src // N, MAX_BLOCKS - 1)", "safe_src // N, MAX_BLOCKS - 2)",
                                        "taps"),
    "taps of x unmasked": Fault(
        UPSTREAM, "mask=c_mask[None, :] & intra[:, None]", "mask=c_mask[None, :]", "accesses"),
    "the last tile of rows lost": Fault(UPSTREAM, "grid = (triton.cdiv(T, BT),", "grid = (T // BT,", "conflicts"),
    "taps chosen by seven bits": Fault(
        UPSTREAM, "acc += (xt + cv) * wv[None, :]",
        "acc += tl.where((pos.to(tl.int8) >= 0)[:, None], xt + cv, 0.0) * wv[None, :]", "wraps"),
    "x written back": Fault(
        UPSTREAM, "    if USE_SILU:\n",
        "    tl.store(x_ptr + toff[:, None] * stride_x_t + coff[None, :], xv, mask=tc_mask)\n    if USE_SILU:\n",
        "taps"),
    "a shortcut one row too early": Fault(PATH, "> tile_row - (W - 1))", "> tile_row - (W - 2))", "taps"),
    "a shortcut that trusts padding": Fault(PATH, "(tl.load(slot_ptr + last_row) < 0) | (", "(", "taps"),
    "a last row past the end": Fault(PATH, "tl.minimum(tile_row + BLOCK_T, T) - 1", "tile_row + BLOCK_T - 1",
                                     "accesses"),
    "heads without their channels": Fault(PATH, "(row * (H * WS) + head * WS)", "(row * (H * WS))", "conflicts"),
    "one lane too many": Fault(PATH, "in_head = lane < WS", "in_head = lane <= WS", "taps"),
    "the stream offset forgotten": Fault(PATH, "head * stride_cache_head + OFF_S", "head * stride_cache_head", "taps"),
}  # fmt: skip  # one fault a line reads as the table it is

# Faults of the metadata kernels: each is violated, with a call.
SEARCHES: dict[str, Fault] = {
    "one step short": Fault(PATH, "search_steps=last_request.bit_length()",
                            "search_steps=last_request.bit_length() - (last_request > 4)", "metadata"),
    "the last request lost": Fault(PATH, "last_request = max(num_reqs - 1, 0)",
                                   "last_request = max(num_reqs - 2, 0)", "metadata"),
    "the end compared strictly": Fault(PATH, "other=0) <= row", "other=0) < row", "metadata"),
    "the wrong half kept": Fault(PATH, "tl.where(has_ended, high, middle)", "tl.where(has_ended, middle, high)",
                                 "metadata"),
    "padding keeps its search": Fault(PATH, "tl.where(is_actual, low, 0)", "low", "metadata"),
    "a store without its mask": Fault(PATH, "seq_idx_ptr + row, owner, mask=is_described",
                                      "seq_idx_ptr + row, owner", "metadata"),
    "padding not stored": Fault(PATH, "query_start_ptr + row, first_row, mask=is_described",
                                "query_start_ptr + row, first_row, mask=is_actual", "metadata"),
    "the buffers exchanged": Fault(PATH, "seq_idx_ptr + row, owner", "seq_idx_ptr + row, first_row", "metadata"),
    "the last tile lost": Fault(PATH, "triton.cdiv(num_padded_tokens, METADATA_TILE)",
                                "max(1, num_padded_tokens // METADATA_TILE)", "metadata"),
    "tiles that overlap": Fault(PATH, "tl.int64) * BLOCK_T +", "tl.int64) * (BLOCK_T - 1) +", "metadata"),
    "a first row without a mask": Fault(PATH, "query_start_loc_ptr + owner, mask=is_actual, other=0)",
                                        "query_start_loc_ptr + low + 1)", "metadata"),
    "upstream, high far beyond": Fault(UPSTREAM, "tl.full([BLOCK], num_reqs - 1, tl.int32)",
                                       "tl.full([BLOCK], num_reqs + 2, tl.int32)", "metadata"),
    "upstream, one step short": Fault(UPSTREAM, "n_iters = (num_reqs - 1).bit_length()",
                                      "n_iters = (num_reqs - 2).bit_length()", "metadata"),
    "upstream, the middle rounded down": Fault(UPSTREAM, "mid = (lo + hi + 1) // 2", "mid = (lo + hi) // 2",
                                               "metadata"),
    "upstream, owners of seven bits": Fault(UPSTREAM, "tl.where(actual, lo, 0)",
                                             "tl.where(actual, lo, 0).to(tl.int8).to(tl.int32)", "metadata"),
    "upstream, stale padding": Fault(UPSTREAM, "tl.where(actual, lo, 0)", "lo", "metadata"),
}  # fmt: skip  # as above

# The search written otherwise, and right: rows without an owner read entries up to num_reqs, which are there.
SEARCHES_RIGHT: dict[str, Fault] = {
    "a search without a mask": Fault(PATH, "middle + 1, mask=is_actual, other=0)", "middle + 1)", "metadata"),
    "upstream, high beyond the last": Fault(UPSTREAM, "tl.full([BLOCK], num_reqs - 1, tl.int32)",
                                            "tl.full([BLOCK], num_reqs, tl.int32)", "metadata"),
    "the middle of the sum": Fault(PATH, "low + (high - low) // 2", "(low + high) // 2", "metadata"),
    "both of two lanes": Fault(PATH, "tl.load(query_start_loc_ptr + middle + 1, mask=is_actual, other=0) <= row",
                               "tl.sum((tl.load(query_start_loc_ptr + middle[:, None] + 0 * tl.arange(0, 2) + 1,"
                               " mask=is_actual[:, None], other=0) <= row[:, None]).to(tl.int32), axis=1) > 1",
                               "metadata"),
    "a step more": Fault(PATH, "search_steps=last_request.bit_length()",
                         "search_steps=num_reqs.bit_length()", "metadata"),
}  # fmt: skip  # as above

# Faults of floating point with every index right: tests judge them, a proof accuses none.
ARITHMETIC: dict[str, Fault] = {
    "the residual dropped": _known("the residual dropped", "taps"),
    "truncation": Fault(
        UPSTREAM, "acc.to(out_ptr.dtype.element_ty)",
        'acc.to(out_ptr.dtype.element_ty, fp_downcast_rounding="rtz")', "taps"),
    "a factor": Fault(UPSTREAM, "acc += xv.to(tl.float32)", "acc = acc * 1.001 + xv.to(tl.float32)", "taps"),
    "sums in bf16": Fault(UPSTREAM, "acc += (xt + cv) * wv[None, :]",
                          "acc = (acc + (xt + cv) * wv[None, :]).to(tl.bfloat16).to(tl.float32)", "taps"),
    "newest tap first": Fault(UPSTREAM, "for iw in tl.static_range(W):", "for iw in tl.static_range(W - 1, -1, -1):",
                              "taps"),
}  # fmt: skip  # as above
