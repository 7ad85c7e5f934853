"""Kernels in which a product may or may not fuse with a sum."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def contraction(x_ptr, y_ptr, z_ptr, w_ptr, out_ptr, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y, z, w = (
        tl.load(x_ptr + offset),
        tl.load(y_ptr + offset),
        tl.load(z_ptr + offset),
        tl.load(w_ptr + offset),
    )
    out = x
    if KIND == "product_plus":
        out = x * y + z
    elif KIND == "plus_product":
        out = z + x * y
    elif KIND == "product_minus":
        out = x * y - z
    elif KIND == "minus_product":
        out = z - x * y
    elif KIND == "two_products":
        out = x * y + z * w
    elif KIND == "difference_of_products":
        out = x * y - z * w
    elif KIND == "shared_product":
        product = x * y
        out = (product + z) * (product + w)
    elif KIND == "product_also_read":
        product = x * y
        out = (product + z) / product
    elif KIND == "chain":
        out = x * y * z + w
    elif KIND == "sum_of_three":
        out = x * y + z + w
    elif KIND == "negated":
        out = -(x * y) + z
    elif KIND == "chosen":
        out = tl.where(w > 0, x * y, z) + w
    elif KIND == "clamped":
        out = tl.maximum(x * y, z) + w
    elif KIND == "loop":
        for _ in range(n):
            out += x * y
            x += z
    elif KIND == "product_before_loop":
        product = x * y
        for _ in range(n):
            out += product
    elif KIND == "product_before_branch":
        product = x * y
        if n > 2:
            out = product + z
    elif KIND == "scalar_factor":
        out = x * n.to(tl.float32) + y
    elif KIND == "scalar_product":
        scale = tl.load(y_ptr) * tl.load(z_ptr)
        out = scale + x
    elif KIND == "square_plus":
        out = (x + y) * (x + y) + w
    tl.store(out_ptr + offset, out.to(out_ptr.dtype.element_ty))


@triton.jit
def outer_product(x_ptr, y_ptr, z_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    place = row[:, None] * COLUMNS + column[None, :]
    x, y = tl.load(x_ptr + row), tl.load(y_ptr + column)
    tl.store(out_ptr + place, x[:, None] * y[None, :] + tl.load(z_ptr + place))


@triton.jit
def row_product(x_ptr, y_ptr, z_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    place = row[:, None] * COLUMNS + column[None, :]
    product = tl.load(x_ptr + row) * tl.load(y_ptr + row)
    tl.store(out_ptr + place, product[:, None] + tl.load(z_ptr + place))


KINDS = [
    "product_plus", "plus_product", "product_minus", "minus_product", "two_products", "difference_of_products",
    "shared_product", "product_also_read", "chain", "sum_of_three", "negated", "chosen", "clamped", "loop",
    "product_before_loop", "product_before_branch", "scalar_factor", "scalar_product", "square_plus",
]  # fmt: skip
