"""Correct kernels of many kinds, as one meets them near short convolutions."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offset < n
    x = tl.load(x_ptr + offset, mask=mask)
    y = tl.load(y_ptr + offset, mask=mask)
    tl.store(out_ptr + offset, x + y, mask=mask)


@triton.jit
def softmax(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * stride + column, mask=mask, other=-float("inf")).to(tl.float32)
    top = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row * stride + column, (top / tl.sum(top, 0)).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def layer_norm(x_ptr, weight_ptr, bias_ptr, out_ptr, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0).to(tl.float32)
        square += tl.where(column < columns, (x - mean) * (x - mean), 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(square, 0) / columns + epsilon)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < columns
        x = tl.load(x_ptr + row * columns + column, mask=mask).to(tl.float32)
        y = (x - mean) * scale * tl.load(weight_ptr + column, mask=mask) + tl.load(bias_ptr + column, mask=mask)
        tl.store(out_ptr + row * columns + column, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    # programs are numbered in groups of rows, so that neighbours share columns of b
    program = tl.program_id(0)
    rows, columns = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    group = program // (GROUP * columns)
    first = group * GROUP
    height = tl.minimum(rows - first, GROUP)
    row = first + (program % (GROUP * columns)) % height
    column = (program % (GROUP * columns)) // height
    m = row * BLOCK_M + tl.arange(0, BLOCK_M)
    n = column * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a = a_ptr + (m % M)[:, None] * stride_a + k[None, :]
    b = b_ptr + k[:, None] * stride_b + (n % N)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - step * BLOCK_K
        total = tl.dot(
            tl.load(a, mask=k[None, :] < left, other=0.0),
            tl.load(b, mask=k[:, None] < left, other=0.0),
            total,
        )
        a += BLOCK_K
        b += BLOCK_K * stride_b
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * stride_c + n[None, :], total.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def linear_scan(decay_ptr, x_ptr, out_ptr, length, channels, BLOCK: tl.constexpr):
    channel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = channel < channels
    state = tl.zeros([BLOCK], tl.float32)
    for position in range(length):
        place = position * channels + channel
        state = state * tl.load(decay_ptr + place, mask=mask, other=0.0) + tl.load(x_ptr + place, mask=mask, other=0.0)
        tl.store(out_ptr + place, state, mask=mask)


@triton.jit
def persistent_scale(x_ptr, out_ptr, tiles, n, factor, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        offset = tile * BLOCK + tl.arange(0, BLOCK)
        mask = offset < n
        tl.store(out_ptr + offset, tl.load(x_ptr + offset, mask=mask) * factor, mask=mask)


@triton.jit
def split_sum(x_ptr, out_ptr, columns, SPLIT: tl.constexpr, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(part * BLOCK, columns, SPLIT * BLOCK):
        column = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0)
    tl.atomic_add(out_ptr + row, tl.sum(total, 0))


@triton.jit
def paged_gather(
    pages_ptr, table_ptr, lengths_ptr, out_ptr, stride_page, stride_table, width,
    PAGE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    request, block = tl.program_id(0), tl.program_id(1)
    length = tl.load(lengths_ptr + request)
    if block * PAGE >= length:
        return
    page = tl.load(table_ptr + request * stride_table + block).to(tl.int64)
    n, d = tl.arange(0, PAGE), tl.arange(0, D)
    position = block * PAGE + n
    mask = (position < length)[:, None]
    values = tl.load(pages_ptr + page * stride_page + n[:, None] * D + d[None, :], mask=mask)
    tl.store(out_ptr + (request * width + position)[:, None] * D + d[None, :], values, mask=mask)


@triton.jit
def convolution_norm(
    x_ptr, weight_ptr, scale_ptr, first_ptr, out_ptr, C, epsilon, W: tl.constexpr, BLOCK: tl.constexpr
):
    # one row: W taps that stay within the row's request, RMS norm only where the row starts no request
    row = tl.program_id(0)
    first = tl.load(first_ptr + row)
    channel = tl.arange(0, BLOCK)
    mask = channel < C
    total = tl.zeros([BLOCK], tl.float32)
    for tap in tl.static_range(W):
        source = row - (W - 1) + tap
        if source >= first:
            x = tl.load(x_ptr + source * C + channel, mask=mask, other=0.0).to(tl.float32)
            total += x * tl.load(weight_ptr + channel * W + tap, mask=mask, other=0.0)
    if row > first:
        mean = tl.sum(total * total, 0) / C
        total = total * tl.rsqrt(mean + epsilon) * tl.load(scale_ptr + channel, mask=mask, other=0.0)
    tl.store(out_ptr + row * C + channel, total.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def collatz(x_ptr, out_ptr, n):
    program = tl.program_id(0)
    if program < n:
        value = tl.load(x_ptr + program)
        steps = 0
        while value != 1:
            if value % 2 == 0:
                value = value // 2
            else:
                value = 3 * value + 1
            steps += 1
        tl.store(out_ptr + program, steps)
