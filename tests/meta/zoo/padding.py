"""Animals that rows without a slot, stale metadata or old blocks wake: classes 5 to 9."""

from __future__ import annotations

from properties.cases import Forward, Geometry, Metadata
from properties.replays import Replays
from tests.meta.zoo.animal import Animal

ANIMALS = (
    Animal(
        "padding_in_slot_0",
        bug_class=5,
        summary="rows without a slot are stored in slot 0",
        property_name="cache.write_frame",
        case=Forward(requests=(), pads=1),
        changes={
            "store": """
                slot = tl.maximum(slot, 0)
                offset = slot // N * stride_block + slot % N * stride_token
                tl.store(cache_ptr + offset[:, None] + lane[None, :], x, mask=has_element)
            """
        },
    ),
    Animal(
        "padding_in_a_live_slot",
        bug_class=5,
        summary="slots are worked out from positions and tables, stale in padding and clamped into the table",
        property_name="cache.stores_inputs",
        case=Forward(pads=1),
        changes={
            "store": """
                column = tl.minimum(position // N, stride_table - 1)
                block = tl.load(table_ptr + request * stride_table + column, mask=has_row, other=0).to(tl.int64)
                offset = block * stride_block + position % N * stride_token
                tl.store(cache_ptr + offset[:, None] + lane[None, :], x, mask=has_element)
            """
        },
    ),
    Animal(
        "padding_left_unset",
        bug_class=5,
        summary="rows without a slot come out as whatever memory held",
        property_name="values.dense_exact",
        case=Forward(requests=(), pads=1),
        changes={
            "output": """
                is_written = has_element & is_stored[:, None]
                tl.store(out_ptr + (row * (H * WS) + head * WS)[:, None] + lane[None, :], out, mask=is_written)
            """
        },
    ),
    Animal(
        "stale_tail",
        bug_class=6,
        summary="padded rows of the metadata keep what a larger batch left there",
        property_name="metadata.searchsorted",
        case=Metadata(lengths=(), padding=1),
        changes={"described": "is_described = is_actual"},
    ),
    Animal(
        "rows_counted_at_capture",
        bug_class=6,
        summary="the grid is as large as the batch that ran before the capture, which later batches outgrow",
        property_name="graphs.piecewise",
        case=Replays(),
        changes={
            "sizes": """
                ROW_TILE = 8
                CHANNEL_TILE = 64
                METADATA_TILE = 256
                _ROWS = {}  # by rows of the buffers: those up to the last one with a slot
            """,
            "grid": """
                # A capture cannot read how many rows are real: the warm-up before it could.
                if not torch.cuda.is_current_stream_capturing():
                    stored = (slot_mapping >= 0).nonzero()
                    _ROWS[T] = int(stored[-1]) + 1 if len(stored) else 0
                rows = _ROWS[T]
                out = x.clone() if use_residual else torch.zeros_like(x)
                grid = (triton.cdiv(rows, ROW_TILE), H * triton.cdiv(ws, CHANNEL_TILE))
            """,
        },
    ),
    Animal(
        "warmed_up_in_block_0",
        bug_class=7,
        summary="the first call compiles ahead on a row of zeros, and stores it in block 0",
        property_name="cache.write_frame",
        case=Forward(requests=(), pads=1),
        changes={
            "sizes": """
                ROW_TILE = 8
                CHANNEL_TILE = 64
                METADATA_TILE = 256
                _WARM = set()  # specialisations that have been compiled
            """,
            "grid": """
                specialisation = (x.dtype, H, ws, W, off_s, activation, use_residual)
                if specialisation not in _WARM:
                    _WARM.add(specialisation)
                    zero = torch.zeros_like(positions[:1])
                    fused_sconv(
                        torch.zeros_like(x[:1]), weight, cache, zero, block_table, zero.int(), zero, zero.int(),
                        off_s, ws, block_size, activation, use_residual,
                    )  # fmt: skip  # arguments grouped by role
                rows = T
                grid = (triton.cdiv(rows, ROW_TILE), H * triton.cdiv(ws, CHANNEL_TILE))
            """,
        },
    ),
    Animal(
        "finished_requests_followed",
        bug_class=8,
        summary="taps of padding are loaded through table rows of requests that have ended, and dropped afterwards",
        property_name="hazards.fused_sconv",
        case=Forward(geometry=Geometry(W=2), requests=(), pads=1),
        changes={
            "sources": """
                from_x = has_row & (source_row >= first_row)
                from_cache = has_row & (source_row < first_row) & (source >= 0)
            """,
            "result": """
                total = tl.where(is_stored[:, None], total, 0.0)
                if USE_SILU:
                    total = total * tl.sigmoid(total)
                if USE_RESIDUAL:
                    total += x.to(tl.float32)
            """,
        },
    ),
    Animal(
        "masked_by_a_product",
        bug_class=9,
        summary="what is no tap is multiplied by 0, which an old NaN survives",
        property_name="cache.read_frame",
        case=Forward(),
        changes={
            "address": """
                source = tl.maximum(source, 0)
                block = tl.load(table_ptr + request * stride_table + source // N, mask=is_stored, other=0).to(tl.int64)
                offset = block * stride_block + source % N * stride_token
            """,
            "cached": """
                is_inside = is_stored[:, None] & in_head[None, :]
                cached = tl.load(cache_ptr + offset[:, None] + lane[None, :], mask=is_inside, other=0.0)
                cached *= from_cache[:, None].to(cached.dtype)
            """,
        },
    ),
)
