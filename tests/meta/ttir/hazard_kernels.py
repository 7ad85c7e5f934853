"""For each hazard a tiny kernel that has it, on the line marked `# here`; `HAS` off gives the near miss."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def read_outside(x_ptr, out_ptr, n, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    if HAS:
        x = tl.load(x_ptr + offset)  # here
    else:
        x = tl.load(x_ptr + offset, mask=offset < n, other=0.0)
    tl.store(out_ptr + offset, x)


@triton.jit
def read_before(x_ptr, out_ptr, n, HAS: tl.constexpr):
    offset = tl.arange(0, 8) - 1
    floor = -1 if HAS else 0
    x = tl.load(x_ptr + offset, mask=(offset >= floor) & (offset < n), other=0.0)  # here
    tl.store(out_ptr + tl.arange(0, 8), x)


@triton.jit
def read_gap(x_ptr, out_ptr, stride, HAS: tl.constexpr):
    # rows of 4 in a tensor padded to `stride`; column 4 lies in the padding
    row = tl.arange(0, 4)
    column = 4 if HAS else 3
    tl.store(out_ptr + row, tl.load(x_ptr + row * stride + column))  # here


@triton.jit
def write_outside(out_ptr, n, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    if HAS:
        tl.store(out_ptr + offset, 1.0)  # here
    else:
        tl.store(out_ptr + offset, 1.0, mask=offset < n)


@triton.jit
def overlapping_tiles(out_ptr, DIFFERENT: tl.constexpr, HAS: tl.constexpr):
    step = 3 if HAS else 4
    offset = tl.program_id(0) * step + tl.arange(0, 4)
    value = offset * 0 + (tl.program_id(0) if DIFFERENT else 7)
    tl.store(out_ptr + offset, value)  # here


@triton.jit
def read_of_neighbour(x_ptr, out_ptr, HAS: tl.constexpr):
    offset = tl.program_id(0) * 4 + tl.arange(0, 4)
    shift = 1 if HAS else 0
    x = tl.load(x_ptr + offset + shift, mask=offset + shift < 8, other=0.0)  # here
    tl.store(x_ptr + offset, x + 1)


@triton.jit
def read_back(x_ptr, out_ptr, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    tl.store(x_ptr + offset, 1.0)
    if not HAS:
        tl.debug_barrier()
    tl.store(out_ptr + offset, tl.load(x_ptr + (7 - offset)))  # here


@triton.jit
def two_lanes(out_ptr, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    place = offset // 2 if HAS else offset
    tl.store(out_ptr + place, offset)  # here


@triton.jit
def stored_twice(out_ptr, HAS: tl.constexpr):
    offset = tl.arange(0, 4)
    tl.store(out_ptr + offset, 1.0)
    shift = 3 if HAS else 4
    tl.store(out_ptr + offset + shift, 2.0)  # here


@triton.jit
def atomic_and_plain(out_ptr, HAS: tl.constexpr):
    if HAS:
        if tl.program_id(0) == 1:
            tl.store(out_ptr, 1.0)  # here
        else:
            tl.atomic_add(out_ptr, 1.0)
    else:
        tl.atomic_add(out_ptr, 1.0)


@triton.jit
def unmasked_other_to_store(x_ptr, out_ptr, n, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    x = tl.load(x_ptr + offset, mask=offset < n)  # here
    if HAS:
        tl.store(out_ptr + offset, x + 1)
    else:
        tl.store(out_ptr + offset, tl.where(offset < n, x + 1, 0.0))


@triton.jit
def unmasked_other_to_sum(x_ptr, out_ptr, n, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    x = tl.load(x_ptr + offset, mask=offset < n)  # here
    if not HAS:
        x = tl.where(offset < n, x, 0.0)
    tl.store(out_ptr, tl.sum(x, 0))


@triton.jit
def unmasked_other_to_address(index_ptr, x_ptr, out_ptr, n, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    index = tl.load(index_ptr + offset, mask=offset < n)  # here
    if HAS:
        x = tl.load(x_ptr + index)
    else:
        x = tl.load(x_ptr + index, mask=offset < n, other=0.0)
    tl.store(out_ptr + offset, x)


@triton.jit
def unmasked_other_to_mask(flag_ptr, out_ptr, n, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    flag = tl.load(flag_ptr + offset, mask=offset < n)  # here
    mask = flag > 0
    if not HAS:
        mask = mask & (offset < n)
    tl.store(out_ptr + offset, 1.0, mask=mask)


@triton.jit
def unmasked_other_to_branch(flag_ptr, out_ptr, n, HAS: tl.constexpr):
    program = tl.program_id(0)
    flag = tl.load(flag_ptr + program, mask=program < n)  # here
    if HAS:
        if flag > 0:
            tl.store(out_ptr + program, 1.0)
    else:
        if program < n:
            if flag > 0:
                tl.store(out_ptr + program, 1.0)


@triton.jit
def copy(x_ptr, out_ptr):
    offset = tl.arange(0, 8)
    tl.store(out_ptr + offset, tl.load(x_ptr + offset))  # here


@triton.jit
def narrow_product(x_ptr, out_ptr, stride, row, HAS: tl.constexpr):
    # row * stride passes 2^31; the tensor is small, but all lanes are masked by their place anyway
    if HAS:
        place = row * stride  # here
    else:
        place = row.to(tl.int64) * stride
    tl.store(out_ptr, tl.load(x_ptr + place % 8 + 8))


@triton.jit
def unsigned_product(x_ptr, out_ptr, stride, row, HAS: tl.constexpr):
    place = row.to(tl.uint32) * stride.to(tl.uint32)  # here
    if not HAS:
        place = row.to(tl.uint32) * (stride.to(tl.uint32) >> 1)
    tl.store(out_ptr, tl.load(x_ptr + (place.to(tl.uint64) // 4294967296 + 2)))


@triton.jit
def wide_product(x_ptr, out_ptr, row, HAS: tl.constexpr):
    place = row * row  # here
    if not HAS:
        place = row
    tl.store(out_ptr, tl.load(x_ptr + (place % 8 + 8)))


@triton.jit
def hashed(x_ptr, out_ptr, key, HAS: tl.constexpr):
    place = (key.to(tl.uint32) * 2654435761) % 8
    tl.store(out_ptr, tl.load(x_ptr + place))


@triton.jit
def divided(x_ptr, out_ptr, n, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    x = tl.load(x_ptr + offset)
    quotient = 100 // x  # here
    if HAS:
        tl.store(out_ptr + offset, quotient)
    else:
        tl.store(out_ptr + offset, quotient, mask=x != 0)


@triton.jit
def left_over(x_ptr, out_ptr, n, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    x = tl.load(x_ptr + offset)
    rest = 100 % x  # here
    tl.store(out_ptr + offset, rest if HAS else tl.where(x == 0, 0, rest))


@triton.jit
def shifted(x_ptr, out_ptr, n, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    x = tl.load(x_ptr + offset)
    amount = x + 30 if HAS else x + 24
    tl.store(out_ptr + offset, offset << amount)  # here


@triton.jit
def lowest_by_minus_one(x_ptr, out_ptr, n, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    x = tl.load(x_ptr + offset)
    x = tl.where(offset == 0, -2147483648, x) if HAS else x
    tl.store(out_ptr + offset, x // (0 - n))  # here


@triton.jit
def asserted(x_ptr, out_ptr, n, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    x = tl.load(x_ptr + offset, mask=offset < n, other=0)
    tl.device_assert(x < (7 if HAS else 8), "x is too large")  # here
    tl.store(out_ptr + offset, x)


@triton.jit
def endless(out_ptr, n, HAS: tl.constexpr):
    count = 0
    while count != n:  # here
        count += 2 if HAS else 1
    tl.store(out_ptr, count)


@triton.jit
def standing_loop(out_ptr, n, step):
    count = 0
    for _ in range(0, n, step):  # here
        count += 1
    tl.store(out_ptr, count)


@triton.jit
def gathered(x_ptr, index_ptr, out_ptr, HAS: tl.constexpr):
    offset = tl.arange(0, 8)
    index = tl.load(index_ptr + offset)
    if not HAS:
        index = tl.minimum(index, 7)
    tl.store(out_ptr + offset, tl.gather(tl.load(x_ptr + offset), index, 0))  # here


@triton.jit
def one_store(out_ptr):
    tl.store(out_ptr + tl.program_id(0), 1.0)


@triton.jit
def half_written(out_ptr, n):
    offset = tl.arange(0, 8)
    tl.store(out_ptr + offset, 1.0, mask=offset < n)
