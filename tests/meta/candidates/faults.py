"""The plain candidate with one fault each: what is wrong, which class of bug it is, who should catch it.

A class is a number of the field notes' "Classes of real bugs in this family", or None for a breach of the
contract that is in none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from tests.meta.candidates import faults_fused as fused
from tests.meta.candidates import faults_hidden as hidden
from tests.meta.candidates import faults_metadata as metadata
from tests.meta.candidates import faults_process as process
from tests.meta.candidates import faults_state as state
from tests.meta.candidates.plain import Plain


@dataclass(frozen=True)
class Fault:
    """One small change to the plain candidate, and the group of properties that should notice it."""

    name: str
    bug_class: int | None
    group: str
    change: Callable[[], Plain]
    summary: str
    dtype: str = "bf16"  # that of the models; its rounding shows faults that fp32 hides, and hides the order of sums


FAULTS = {
    fault.name: fault
    for fault in (
        Fault("block_size_is_W", 1, "values", fused.BlockSizeIsW,
              "blocks are taken to hold W tokens"),
        Fault("window_lost", 2, "values", fused.WindowLost,
              "taps from the cache read 0"),
        Fault("store_in_read_block", 3, "cache", fused.StoreInReadBlock,
              "a chunk shorter than W-1 is stored through the block it reads from"),
        Fault("pads_in_slot_0", 5, "cache", fused.PadsInSlotZero,
              "rows with a negative slot are stored to slot 0"),
        Fault("only_minus_one_is_pad", 5, "cache", fused.OnlyMinusOneIsPad,
              "a negative slot other than -1 is stored"),
        Fault("pad_output_unset", 5, "values", fused.PadOutputUnset,
              "rows with a negative slot come out as whatever memory held"),
        Fault("pads_have_taps", 8, "values", fused.PadsHaveTaps,
              "rows with a negative slot take taps from x"),
        Fault("pad_is_no_tap", 5, "values", fused.PadIsNoTap,
              "rows with a negative slot are no tap of later rows"),
        Fault("masked_by_product", 9, "cache", fused.MaskedByProduct,
              "masked values are multiplied by 0"),
        Fault("taps_reversed", 13, "values", fused.TapsReversed,
              "the weights are taken newest-first"),
        Fault("stores_activated", 14, "cache", fused.StoresActivated,
              "the activated sum is stored, not the input"),
        Fault("stores_output", 14, "cache", fused.StoresOutput,
              "the output is stored, not the input"),
        Fault("contiguous_pages", 17, "cache", fused.ContiguousPages,
              "pages are taken to follow one another without a gap"),
        Fault("contiguous_table", 17, "values", fused.ContiguousTable,
              "the block table's row stride is taken to be its width"),
        Fault("truncates", 18, "values", fused.Truncates,
              "fp32 is cut, not rounded to nearest even"),
        Fault("flushes_subnormals", None, "values", fused.FlushesSubnormals,
              "results below the smallest normal number are 0"),
        Fault("saturates", None, "values", fused.Saturates,
              "what overflows becomes the largest finite number"),
        Fault("sums_in_dtype", None, "values", fused.SumsInDtype,
              "products and sums are rounded to the dtype of x"),
        Fault("loses_sign_of_zero", None, "cache", fused.LosesSignOfZero,
              "-0 is stored as +0"),
        Fault("stores_no_subnormals", None, "cache", fused.StoresNoSubnormals,
              "subnormals are stored as 0"),
        Fault("rounds_twice", None, "values", fused.RoundsTwice,
              "the sum is rounded before the residual"),
        Fault("residual_dropped", None, "values", fused.ResidualDropped,
              "the residual is not added"),
        Fault("activation_dropped", None, "values", fused.ActivationDropped,
              "the activation is not applied"),
        Fault("off_s_ignored_on_read", None, "values", fused.OffsetIgnoredOnRead,
              "the cache is read from channel 0 of its rows"),
        Fault("off_s_ignored_on_write", None, "cache", fused.OffsetIgnoredOnWrite,
              "the cache is written from channel 0 of its rows"),
        Fault("first_row_from_cache", 11, "values", fused.FirstRowFromCache,
              "the comparison with query_start is off by one"),
        Fault("taps_before_start", None, "values", fused.TapsBeforeStart,
              "taps before position 0 repeat position 0"),
        Fault("scaled_weights", None, "values", fused.ScaledWeights,
              "weights are 0.1 % too large"),
        Fault("writes_x", None, "cache", fused.WritesX,
              "x is left changed"),
        Fault("returns_x", None, "cache", fused.ReturnsX,
              "the result is written over x and x returned"),
        Fault("neighbours_turn_sums", None, "batch", hidden.TurnedByNeighbours,
              "a batch of several requests is summed newest first", "fp32"),
        Fault("block_names_turn_sums", None, "batch", hidden.TurnedByBlockNames,
              "requests whose blocks descend are summed newest first", "fp32"),
        Fault("block_size_turns_sums", 20, "batch", hidden.TurnedByBlockSize,
              "blocks of 32 tokens are summed newest first", "fp32"),
        Fault("table_stride_turns_sums", 17, "batch", hidden.TurnedByTableStride,
              "with table rows apart, taps are summed newest first", "fp32"),
        Fault("sharing_turns_sums", None, "batch", hidden.TurnedBySharing,
              "requests that share a block are summed newest first", "fp32"),
        Fault("heads_turn_sums", 20, "batch", hidden.TurnedByHeads,
              "several heads are summed newest first", "fp32"),
        Fault("pads_turn_sums", 5, "batch", hidden.TurnedByPads,
              "beside a row without a slot, taps are summed newest first", "fp32"),
        Fault("weight_strides_turn_sums", 17, "layout", hidden.TurnedByWeightStrides,
              "with a weight that is a view, taps are summed newest first", "fp32"),
        Fault("copied_cache", 17, "layout", hidden.CopiedCache,
              "a cache of other strides is copied and the copy stored to"),
        Fault("contiguous_x", 17, "layout", hidden.ContiguousX,
              "the row stride of x is taken to be its width"),
        Fault("far_pages_wrap", 10, "sizes", hidden.FarPagesWrap,
              "block offsets wrap at 2^31 elements"),
        Fault("offset_remembered", None, "streams", hidden.OffsetRemembered,
              "off_s is remembered by the shape of the call"),
        Fault("first_request_stored", None, "cache", hidden.FirstRequestStored,
              "rows of later requests are not stored"),
        Fault("page_padding_cleared", 17, "cache", hidden.PagePaddingCleared,
              "the element behind a page is cleared"),
        Fault("gap_times_zero", 9, "cache", hidden.GapTimesZero,
              "0 times the last lane of a block row is added"),
        Fault("every_entry_checked", 8, "cache", hidden.EveryEntryChecked,
              "a table with the largest number in it is refused, needed or not"),
        Fault("slots_normalised", None, "cache", hidden.SlotsNormalised,
              "negative slots are replaced by -1 in the caller's tensor"),
        Fault("channels_times_zero", None, "values", hidden.ChannelsTimesZero,
              "0 times the sum of the row is added"),
        Fault("drafts_kept", 4, "schedule", state.DraftsKept,
              "the window is the end of the last forward, drafts included"),
        Fault("short_chunk_loses_window", 2, "schedule", state.ShortChunkLosesWindow,
              "after a chunk shorter than the window, older taps read 0"),
        Fault("skips_what_is_stored", None, "schedule", state.SkipsWhatIsStored,
              "a row whose slot holds its input already is not convolved"),
        Fault("table_remembered", 8, "schedule", state.TableRemembered,
              "a request's first block is remembered when it is given another"),
        Fault("search_one_step_short", 16, "metadata", metadata.ShortSearch,
              "the bisection stops one step early"),
        Fault("empty_requests_own", 16, "metadata", metadata.EmptyRequestsOwn,
              "a request without rows owns its successor's rows"),
        Fault("stale_tail", 6, "metadata", metadata.StaleTail,
              "padded rows keep what the buffers held"),
        Fault("one_row_beyond", None, "metadata", metadata.OneRowBeyond,
              "the row after the padded ones is cleared too"),
        Fault("guard_turned_round", 15, "metadata", metadata.GuardTurnedRound,
              "larger buffers are refused, smaller ones accepted"),
        Fault("draws_random_numbers", None, "cache", process.DrawsRandomNumbers,
              "torch's random numbers are drawn from"),
        Fault("changes_default_dtype", None, "metadata", process.ChangesDefaultDtype,
              "torch's default dtype is set and left so"),
    )
}  # fmt: skip  # two lines a fault read as a table


def faulty(name: str) -> SimpleNamespace:
    """Returns a candidate's two operators with the named fault."""
    if name not in FAULTS:
        raise ValueError(f"fault is {name!r}, but must be one of {', '.join(FAULTS)}")
    operators = FAULTS[name].change()
    return SimpleNamespace(
        __name__=name,
        fused_sconv=operators.fused_sconv,
        sconv_seq_metadata=operators.sconv_seq_metadata,
    )


def write_faulty(name: str, folder: Path) -> Path:
    """Writes a candidate file with the named fault, to be judged by its path, and returns that."""
    path = folder / f"{name}.py"
    path.write_text(
        f'"""The plain candidate with one fault: {FAULTS[name].summary}."""\n\n'
        "from tests.meta.candidates.faults import faulty\n\n"
        f"fused_sconv = faulty({name!r}).fused_sconv\n"
        f"sconv_seq_metadata = faulty({name!r}).sconv_seq_metadata\n"
    )
    return path
