"""Kernels for operations that move, combine or count the lanes of a tile."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, out_ptr, OPERATION: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    base = tl.program_id(0) * ROWS * COLUMNS
    x = tl.load(x_ptr + base + row[:, None] * COLUMNS + column[None, :])
    tl.store(out_ptr + tl.program_id(0) * ROWS + row, OPERATION(x))


@triton.jit
def same_shape(x_ptr, out_ptr, OPERATION: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    offset = tl.program_id(0) * ROWS * COLUMNS + row[:, None] * COLUMNS + column[None, :]
    tl.store(out_ptr + offset, OPERATION(tl.load(x_ptr + offset)))


@triton.jit
def sum_of(x):
    return tl.sum(x, 1)


@triton.jit
def max_of(x):
    return tl.max(x, 1)


@triton.jit
def min_of(x):
    return tl.min(x, 1)


@triton.jit
def argmax_of(x):
    return tl.argmax(x, 1)


@triton.jit
def argmin_of(x):
    return tl.argmin(x, 1)


@triton.jit
def xor_of(x):
    return tl.xor_sum(x, 1)


@triton.jit
def _last(one, other):
    return other


@triton.jit
def last_of(x):
    return tl.reduce(x, 1, _last)


@triton.jit
def _multiply(one, other):
    return one * other


@triton.jit
def product_of(x):
    return tl.reduce(x, 1, _multiply)


@triton.jit
def running_sum(x):
    return tl.cumsum(x, 1)


@triton.jit
def running_sum_down(x):
    return tl.cumsum(x, 0)


@triton.jit
def running_product(x):
    return tl.cumprod(x, 1)


@triton.jit
def running_sum_back(x):
    return tl.cumsum(x, 1, reverse=True)


@triton.jit
def _newest(one, other):
    return other * 0 + tl.maximum(one, other)


@triton.jit
def running_maximum(x):
    return tl.associative_scan(x, 1, _newest)


@triton.jit
def flipped(x):
    return tl.flip(x, 1)


@triton.jit
def sorted_rows(x):
    return tl.sort(x, 1)


@triton.jit
def transposed_twice(x):
    return tl.trans(tl.trans(x) + 1)


@triton.jit
def reshaped(x):
    return tl.reshape(tl.reshape(x, (x.shape[1], x.shape[0])) * 2, x.shape)


@triton.jit
def joined(x):
    return tl.reshape(tl.join(x, x + 1), (x.shape[0], 2 * x.shape[1])).reshape(x.shape[0], x.shape[1], 2).sum(2)


@triton.jit
def split_and_swapped(x):
    one, other = tl.split(tl.reshape(x, (x.shape[0], x.shape[1] // 2, 2)))
    return tl.reshape(tl.join(other, one), x.shape)


@triton.jit
def gather_rows(x_ptr, index_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    offset = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out_ptr + offset, tl.gather(tl.load(x_ptr + offset), tl.load(index_ptr + offset), 1))


@triton.jit
def concatenate(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offset = tl.arange(0, BLOCK)
    both = tl.cat(tl.load(x_ptr + offset), tl.load(y_ptr + offset), can_reorder=True)
    tl.store(out_ptr + tl.arange(0, 2 * BLOCK), both)


@triton.jit
def count(x_ptr, out_ptr, BLOCK: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.program_id(0) * BINS + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def dot(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    c = tl.dot(a, b, input_precision=PRECISION)
    tl.store(c_ptr + m[:, None] * N + n[None, :], c)


@triton.jit
def atomic(x_ptr, index_ptr, table_ptr, old_ptr, KIND: tl.constexpr, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place, x = table_ptr + tl.load(index_ptr + offset), tl.load(x_ptr + offset)
    if KIND == "add":
        old = tl.atomic_add(place, x)
    elif KIND == "max":
        old = tl.atomic_max(place, x)
    elif KIND == "min":
        old = tl.atomic_min(place, x)
    elif KIND == "and":
        old = tl.atomic_and(place, x)
    elif KIND == "or":
        old = tl.atomic_or(place, x)
    elif KIND == "xor":
        old = tl.atomic_xor(place, x)
    elif KIND == "xchg":
        old = tl.atomic_xchg(place, x)
    else:
        old = tl.atomic_cas(place, x, x + 1)
    tl.store(old_ptr + offset, old)


@triton.jit
def descriptor_copy(x_ptr, y_ptr, M, N, stride, ADD: tl.constexpr, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [M, N], [stride, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(y_ptr, [M, N], [stride, 1], [BLOCK, BLOCK])
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    tile = source.load([row, column])
    if ADD:
        target.atomic_add([row, column], tile)
    else:
        target.store([row, column], tile * 2)


@triton.jit
def block_pointer_copy(x_ptr, y_ptr, M, N, stride, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    source = tl.make_block_ptr(x_ptr, (M, N), (stride, 1), (row, 0), (BLOCK, BLOCK), (1, 0))
    source = tl.advance(source, (0, column))
    target = tl.make_block_ptr(y_ptr, (M, N), (stride, 1), (row, column), (BLOCK, BLOCK), (1, 0))
    tile = tl.load(source, boundary_check=(0, 1), padding_option="zero")
    tl.store(target, tile * 2, boundary_check=(0, 1))
