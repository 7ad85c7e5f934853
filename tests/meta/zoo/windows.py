"""Animals that take their taps, or store their rows, in the wrong place: classes 1 to 4, 11, 13, 14."""

from __future__ import annotations

from properties.cases import Forward, Geometry, Request, Schedule
from tests.meta.zoo.animal import Animal

ANIMALS = (
    Animal(
        "pages_of_w",
        bug_class=1,
        summary="pages are taken to hold W tokens, though they have grown",
        property_name="values.dense_exact",
        case=Forward(geometry=Geometry(W=2), requests=(Request(start=2),)),
        changes={
            "sizes of the cache": """
                tokens = W  # the cache was planned for the window
                strides = cache.stride(0), cache.stride(1), cache.stride(2)
                table_stride = block_table.stride(0)
            """
        },
    ),
    Animal(
        "window_of_the_first_row",
        bug_class=2,
        summary="only a chunk's first row looks into the cache, its second one begins with zeros",
        property_name="schedule.any_cut",
        case=Schedule(geometry=Geometry(W=3), cuts=(1, 2)),
        changes={
            "sources": """
                from_x = is_stored & (source_row >= first_row)
                from_cache = is_stored & (row == first_row) & (age > 0) & (source >= 0)
            """
        },
    ),
    Animal(
        "short_history_ignored",
        bug_class=2,
        summary="a request with fewer than W - 1 tokens in the cache is taken for a new one",
        property_name="schedule.any_cut",
        case=Schedule(geometry=Geometry(W=3), cuts=(1, 1)),
        changes={
            "sources": """
                has_history = position - (row - first_row) >= W - 1
                from_x = is_stored & (source_row >= first_row)
                from_cache = is_stored & (source_row < first_row) & has_history
            """
        },
    ),
    Animal(
        "stored_where_it_read",
        bug_class=3,
        summary="the first W - 1 rows of a chunk are stored in the block that holds their window, shared or not",
        property_name="batch.shared_prefix",
        case=Forward(geometry=Geometry(W=2), requests=(Request(start=1), Request(start=1, fork=0))),
        changes={
            "store": """
                start = position - (row - first_row)
                goes_on = is_stored & (start > 0) & (row - first_row < W - 1)
                column = tl.where(goes_on, start - 1, 0) // N
                held = tl.load(table_ptr + request * stride_table + column, mask=goes_on, other=0)
                slot = tl.where(is_stored, slot, 0)
                block = tl.where(goes_on, held.to(tl.int64), slot // N)
                offset = block * stride_block + slot % N * stride_token
                tl.store(cache_ptr + offset[:, None] + lane[None, :], x, mask=has_element & is_stored[:, None])
            """
        },
    ),
    Animal(
        "drafts_count",
        bug_class=4,
        summary="a request's window ends where its last forward did, drafts that were rejected included",
        property_name="schedule.rollback",
        case=Schedule(geometry=Geometry(W=2), cuts=(2,)),
        changes={
            "sizes": """
                ROW_TILE = 8
                CHANNEL_TILE = 64
                METADATA_TILE = 256
                _ENDS = {}  # of each cache, by the first block of a request: the position after its last row
            """,
            "launch": """
                ends = _ENDS.setdefault(cache.data_ptr(), positions.new_zeros(len(cache)))
                is_stored = slot_mapping >= 0
                first_block = torch.where(is_stored, block_table[seq_idx.long(), 0], 0).long()
                start = positions - (torch.arange(T, device=x.device) - query_start)
                window = positions + torch.where(start > 0, (ends[first_block] - start).clamp(min=0), 0)
                _fused_sconv_kernel[grid](
                    x, weight, cache, out, window, block_table, seq_idx, slot_mapping, query_start,
                    T, tokens, x.stride(0), *strides, weight.stride(0), weight.stride(1), table_stride,
                    OFF_S=off_s, WS=ws, H=H, W=W, USE_SILU=activation is not None, USE_RESIDUAL=use_residual,
                    BLOCK_T=ROW_TILE, BLOCK_C=CHANNEL_TILE,
                )  # fmt: skip  # arguments grouped by role
                ends[first_block] = 0
                ends.scatter_reduce_(0, first_block, torch.where(is_stored, positions + 1, 0), "amax")
                return out
            """,
        },
    ),
    Animal(
        "taps_read_back",
        bug_class=11,
        summary="rows of another program are read from the cache, which that program is just writing",
        property_name="hazards.fused_sconv",
        case=Forward(geometry=Geometry(W=2), requests=(Request(length=9),)),
        changes={
            "sources": """
                first_here = tl.maximum(first_row, row_tile * BLOCK_T)
                from_x = is_stored & (source_row >= first_here)
                from_cache = is_stored & (source_row < first_here) & (source >= 0)
            """
        },
    ),
    Animal(
        "newest_weight_first",
        bug_class=13,
        summary="the weight's first column is taken for the newest tap",
        property_name="values.one_hot_taps",
        case=Forward(geometry=Geometry(W=2), contents="codes", use_residual=False),
        changes={
            "weight": """
                tap_weight = tl.load(weight_ptr + tl.cast(stride_tap, tl.int64) * age, mask=in_head, other=0.0)
            """
        },
    ),
    Animal(
        "stores_the_result",
        bug_class=14,
        summary="the activated sum is stored in the cache, not the input",
        property_name="cache.stores_inputs",
        case=Forward(activation="silu"),
        changes={
            "result": """
                if USE_SILU:
                    total = total * tl.sigmoid(total)
                x_or_state = total
                if USE_RESIDUAL:
                    total += x.to(tl.float32)
            """,
            "store": """
                slot = tl.where(is_stored, slot, 0)
                offset = slot // N * stride_block + slot % N * stride_token
                state = x_or_state.to(cache_ptr.dtype.element_ty)
                tl.store(cache_ptr + offset[:, None] + lane[None, :], state, mask=has_element & is_stored[:, None])
            """,
        },
    ),
)
