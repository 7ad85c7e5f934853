"""Animals that hold for usual sizes, strides and numbers only: classes 10, 12 and 17 to 20."""

from __future__ import annotations

from properties.cases import FAR, Forward, Geometry, Layout, Request
from tests.meta.zoo.animal import Animal

ANIMALS = (
    Animal(
        "rows_of_32_bits",
        bug_class=10,
        summary="row times row stride is a product of 32 bits",
        property_name="sizes.far_rows",
        case=Forward(requests=(Request(length=3),), layout=Layout(x_gap=FAR)),
        changes={
            "programs": """
                row_tile = tl.program_id(0)
                channel_tile = tl.program_id(1)
            """
        },
    ),
    Animal(
        "pages_of_32_bits",
        bug_class=10,
        summary="block times page stride is a product of 32 bits",
        property_name="sizes.far_blocks",
        case=Forward(
            geometry=Geometry(W=2), requests=(Request(start=1), Request(start=1)), layout=Layout(page_pad=FAR)
        ),
        changes={
            "address": """
                source = tl.where(from_cache, source, 0)
                block = tl.load(table_ptr + request * stride_table + source // N, mask=from_cache, other=0)
                offset = block * stride_block + source % N * stride_token
            """
        },
    ),
    Animal(
        "tiles_overlap",
        bug_class=12,
        summary="each tile begins on the last row of the one before, which both write",
        property_name="hazards.fused_sconv",
        case=Forward(requests=(Request(length=8),)),
        changes={
            "tile": """
                row = row_tile * (BLOCK_T - 1) + tl.arange(0, BLOCK_T)
                head = (channel_tile // TILES).to(tl.int64)
                lane = channel_tile % TILES * BLOCK_C + tl.arange(0, BLOCK_C)
            """,
            "grid": """
                rows = T
                grid = (triton.cdiv(rows, ROW_TILE - 1), H * triton.cdiv(ws, CHANNEL_TILE))
            """,
        },
    ),
    Animal(
        "heads_outermost",
        bug_class=17,
        summary="tokens of a head are taken to lie beside one another",
        property_name="layout.cache_strides",
        case=Forward(geometry=Geometry(H=2, N=2)),
        changes={
            "sizes of the cache": """
                tokens = block_size
                strides = cache.stride(0), N * cache.shape[3], cache.shape[3]
                table_stride = block_table.stride(0)
            """
        },
    ),
    Animal(
        "pages_without_a_gap",
        bug_class=17,
        summary="pages are taken to follow one another without a gap",
        property_name="cache.stores_inputs",
        case=Forward(layout=Layout(page_pad=1), block_seed=3),
        changes={
            "sizes of the cache": """
                tokens = block_size
                strides = cache[0].numel(), cache.stride(1), cache.stride(2)
                table_stride = block_table.stride(0)
            """
        },
    ),
    Animal(
        "table_without_a_gap",
        bug_class=17,
        summary="the row stride of the block table is taken to be its width",
        property_name="batch.table_and_pages",
        case=Forward(geometry=Geometry(W=2), requests=(Request(), Request(start=1)), layout=Layout(table_gap=1)),
        changes={
            "sizes of the cache": """
                tokens = block_size
                strides = cache.stride(0), cache.stride(1), cache.stride(2)
                table_stride = block_table.shape[1]
            """
        },
    ),
    Animal(
        "channels_by_eights",
        bug_class=17,
        summary="channels are taken to come in multiples of 8",
        property_name="cache.write_frame",
        case=Forward(geometry=Geometry(D=2)),
        changes={
            "masks": """
                has_row = row < T
                in_head = lane < (WS + 7) // 8 * 8
            """
        },
    ),
    Animal(
        "cut_to_16_bits",
        bug_class=18,
        summary="sums are cut to bf16, not rounded",
        property_name="values.unbiased",
        case=Forward(geometry=Geometry(ws=64, D=64), contents="normal"),
        changes={
            "round": """
                if out_ptr.dtype.element_ty == tl.bfloat16:
                    upper = total.to(tl.uint32, bitcast=True) >> 16
                    out = upper.to(tl.uint16).to(tl.bfloat16, bitcast=True)
                else:
                    out = total.to(out_ptr.dtype.element_ty)
            """
        },
    ),
    Animal(
        "rows_on_the_second_axis",
        bug_class=19,
        summary="rows are on the second axis of the grid, which holds 65,535 tiles",
        property_name="hazards.fused_sconv",
        found_by="sizes.many_rows",
        case=Forward(requests=(Request(length=8 * 65_535 + 1),)),
        changes={
            "programs": """
                row_tile = tl.program_id(1).to(tl.int64)
                channel_tile = tl.program_id(0)
            """,
            "grid": """
                rows = T
                grid = (H * triton.cdiv(ws, CHANNEL_TILE), triton.cdiv(rows, ROW_TILE))
            """,
        },
    ),
    Animal(
        "table_of_one_column",
        bug_class=20,
        summary="a table stride of 1 is a constant to the compiler, and no constant can be cast so",
        property_name="values.dense_exact",
        case=Forward(),
        changes={
            "address": """
                source = tl.where(from_cache, source, 0)
                entry = request * stride_table.to(tl.int64) + source // N
                block = tl.load(table_ptr + entry, mask=from_cache, other=0).to(tl.int64)
                offset = block * stride_block + source % N * stride_token
            """
        },
    ),
    Animal(
        "remainder_by_bits",
        bug_class=20,
        summary="where N is a multiple of 16, it is taken for a power of two",
        property_name="batch.block_size",
        case=Forward(geometry=Geometry(W=2), requests=(Request(start=49),)),
        changes={
            "address": """
                source = tl.where(from_cache, source, 0)
                inside = tl.where(N % 16 == 0, source & (N - 1), source % N)
                block = tl.load(table_ptr + request * stride_table + source // N, mask=from_cache, other=0).to(tl.int64)
                offset = block * stride_block + inside * stride_token
            """
        },
    ),
    Animal(
        "one_block_for_a_window",
        bug_class=20,
        summary="where N is a multiple of 16, a window is taken to lie in one block",
        property_name="batch.block_size",
        case=Forward(geometry=Geometry(N=16, W=3), requests=(Request(start=17),)),
        changes={
            "address": """
                source = tl.where(from_cache, source, 0)
                last = tl.where(from_cache, position - (row - first_row) - 1, 0)
                column = tl.where(N % 16 == 0, last, source) // N
                block = tl.load(table_ptr + request * stride_table + column, mask=from_cache, other=0).to(tl.int64)
                offset = block * stride_block + source % N * stride_token
            """
        },
    ),
)
