"""The contract's list of properties, line by line, and which properties of the catalogue judge each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Promise:
    """One line of the contract's list: a group, a sentence, and the properties that judge it together."""

    group: str
    sentence: str
    judged_by: tuple[str, ...]


PROMISES = (
    Promise(
        "values",
        "every row equals the dense reference within a derived per-element bound",
        ("values.dense_bound", "values.weight_dtypes"),
    ),
    Promise(
        "values",
        "with inputs whose sums are exact in fp32, every row equals the dense reference rounded once *(bits)*",
        ("values.dense_exact",),
    ),
    Promise(
        "values",
        "the mean signed rounding error is zero within its confidence interval",
        ("values.unbiased",),
    ),
    Promise(
        "values",
        "with one-hot weights each tap is the input at exactly its position *(bits)*",
        ("values.one_hot_taps",),
    ),
    Promise(
        "cache",
        "stored inputs are there *(bits)*; everything else is unchanged *(bits)*, other streams and the gap included",
        ("cache.stores_inputs", "cache.write_frame", "cache.process_frame"),
    ),
    Promise(
        "cache",
        "NaN anywhere outside the windows changes nothing *(bits)*; "
        "a NaN inside reaches its own channel and window only",
        ("cache.read_frame", "values.nan_containment"),
    ),
    Promise(
        "cache",
        "garbage in unused block-table entries, unused table columns and unused requests changes nothing *(bits)*",
        ("cache.table_frame",),
    ),
    Promise(
        "schedule",
        "any cut of a prompt into forwards gives the one-shot result *(bits)*, cuts shorter than `W` included",
        ("schedule.any_cut",),
    ),
    Promise(
        "schedule",
        "prefill = one token at a time = verify windows of any length *(bits)*",
        ("schedule.windows",),
    ),
    Promise(
        "schedule",
        "rejected drafts leave no trace: continuing after a rollback = never having drafted *(bits)*",
        ("schedule.rollback",),
    ),
    Promise(
        "schedule",
        "preempt and recompute, and repeating the same forward, give the same *(bits)*",
        ("schedule.preempted", "schedule.repeated"),
    ),
    Promise(
        "batch",
        "a request's result does not depend on its neighbours' contents, number or order *(bits)*",
        ("batch.neighbours",),
    ),
    Promise(
        "batch",
        "renaming physical blocks, another `N`, a wider table, a padded page change nothing *(bits)*",
        ("batch.block_names", "batch.block_size", "batch.table_and_pages"),
    ),
    Promise(
        "batch",
        "sharing a prefix's blocks = private copies *(bits)*, and shared blocks are never written",
        ("batch.shared_prefix",),
    ),
    Promise(
        "batch",
        "head shards (tensor parallel) put together = the whole *(bits)*",
        ("batch.head_shards",),
    ),
    Promise(
        "batch",
        "any number of rows with negative slots, with any metadata in range, changes nothing for the others *(bits)*",
        ("batch.rows_without_slots",),
    ),
    Promise(
        "streams",
        "the four streams in any order, in one cache, = each alone in its own *(bits)*",
        ("streams.any_order",),
    ),
    Promise(
        "layout",
        "strides and views of weight, table and cache (and of `x`, where accepted) change nothing *(bits)*",
        ("layout.weight_strides", "layout.cache_strides", "layout.row_stride_of_x", "layout.alignment"),
    ),
    Promise(
        "sizes",
        "1, multiples of 16, tile edges ± 1 and offsets beyond 2³¹ elements give what small sizes give",
        (
            "sizes.tile_edges",
            "sizes.metadata_tile_edges",
            "sizes.long_forwards",
            "sizes.many_rows",
            "sizes.metadata_many_rows",
            "sizes.far_blocks",
            "sizes.far_heads",
            "sizes.far_rows",
            "sizes.far_table",
            "sizes.far_weights",
        ),
    ),
    Promise(
        "metadata",
        "equals the plain `searchsorted` construction *(bits)*, empty requests and empty tails included",
        ("metadata.searchsorted", "metadata.refuses", "metadata.process_frame"),
    ),
    Promise(
        "graphs",
        "replay = eager *(bits)*, piecewise and full, "
        "after buffers were refilled with a smaller, larger or other batch",
        ("graphs.piecewise", "graphs.full", "graphs.breakable"),
    ),
    Promise(
        "hazards",
        "no access outside its tensor, no conflicting accesses between programs, every output element written exactly "
        "once, no index arithmetic that wraps, no value taken from a masked-off lane without `other`",
        ("hazards.fused_sconv", "hazards.sconv_seq_metadata"),
    ),
    Promise(
        "history",
        "a random life of a cache (admit, prefill in chunks, decode, draft and reject, fork, free, reuse of blocks, "
        "preempt, graph replay) gives at every step what the full history says",
        ("history.life", "history.public_bugs"),
    ),
)
