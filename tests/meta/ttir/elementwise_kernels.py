"""One-line kernels for each elementwise operation, launched by one generic tile."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def unary_tile(x_ptr, out_ptr, OPERATION: tl.constexpr, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offset, OPERATION(tl.load(x_ptr + offset)))


@triton.jit
def binary_tile(x_ptr, y_ptr, out_ptr, OPERATION: tl.constexpr, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offset, OPERATION(tl.load(x_ptr + offset), tl.load(y_ptr + offset)))


@triton.jit
def cast_tile(x_ptr, out_ptr, TARGET: tl.constexpr, ROUNDING: tl.constexpr, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offset)
    if ROUNDING == "":
        tl.store(out_ptr + offset, x.to(TARGET))
    else:
        tl.store(out_ptr + offset, x.to(TARGET, fp_downcast_rounding=ROUNDING))


@triton.jit
def negate(x):
    return -x


@triton.jit
def absolute(x):
    return tl.abs(x)


@triton.jit
def exponential(x):
    return tl.exp(x)


@triton.jit
def exponential_2(x):
    return tl.exp2(x)


@triton.jit
def logarithm(x):
    return tl.log(x)


@triton.jit
def logarithm_2(x):
    return tl.log2(x)


@triton.jit
def root(x):
    return tl.sqrt(x)


@triton.jit
def precise_root(x):
    return tl.sqrt_rn(x)


@triton.jit
def reciprocal_root(x):
    return tl.rsqrt(x)


@triton.jit
def sine(x):
    return tl.sin(x)


@triton.jit
def cosine(x):
    return tl.cos(x)


@triton.jit
def error_function(x):
    return tl.erf(x)


@triton.jit
def sigmoid(x):
    return tl.sigmoid(x)


@triton.jit
def floor(x):
    return tl.floor(x)


@triton.jit
def ceiling(x):
    return tl.ceil(x)


@triton.jit
def clamp(x):
    return tl.clamp(x, -1.0, 2.0)


@triton.jit
def invert(x):
    return ~x


@triton.jit
def add(x, y):
    return x + y


@triton.jit
def subtract(x, y):
    return x - y


@triton.jit
def multiply(x, y):
    return x * y


@triton.jit
def divide(x, y):
    return x / y


@triton.jit
def precise_divide(x, y):
    return tl.div_rn(x, y)


@triton.jit
def quotient(x, y):
    return x // y


@triton.jit
def remainder(x, y):
    return x % y


@triton.jit
def maximum(x, y):
    return tl.maximum(x, y)


@triton.jit
def minimum(x, y):
    return tl.minimum(x, y)


@triton.jit
def maximum_nan(x, y):
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def minimum_nan(x, y):
    return tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def bit_and(x, y):
    return x & y


@triton.jit
def bit_or(x, y):
    return x | y


@triton.jit
def bit_xor(x, y):
    return x ^ y


@triton.jit
def shift_left(x, y):
    return x << y


@triton.jit
def shift_right(x, y):
    return x >> y


@triton.jit
def high_product(x, y):
    return tl.umulhi(x, y)


@triton.jit
def fused(x, y):
    return tl.fma(x, y, x)


@triton.jit
def less(x, y):
    return x < y


@triton.jit
def less_equal(x, y):
    return x <= y


@triton.jit
def equal(x, y):
    return x == y


@triton.jit
def unequal(x, y):
    return x != y


@triton.jit
def greater(x, y):
    return x > y


@triton.jit
def greater_equal(x, y):
    return x >= y


@triton.jit
def choose(x, y):
    return tl.where(x < y, x, y)
