"""Kernels about who comes first: `HAS` gives the hazard on the line marked `# here`, off the near miss."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def plain_by_the_last(count_ptr, out_ptr, HAS: tl.constexpr):
    """The program that counted last stores to the counter that the others changed."""
    old = tl.atomic_add(count_ptr, 1)
    if old == tl.num_programs(0) - 1:
        if HAS:
            tl.store(count_ptr, 0)  # here
        else:
            tl.atomic_xchg(count_ptr, 0)
    tl.store(out_ptr + tl.program_id(0), old)


@triton.jit
def barrier_of_some(x_ptr, out_ptr, HAS: tl.constexpr):
    """Reads back its tile after a barrier that, where it HAS the hazard, only the second program reaches."""
    pid = tl.program_id(0)
    offset = pid * 8 + tl.arange(0, 8)
    tl.store(x_ptr + offset, offset)
    if HAS:
        if pid == 1:
            tl.debug_barrier()
    else:
        tl.debug_barrier()
    tl.store(out_ptr + offset, tl.load(x_ptr + pid * 8 + 7 - tl.arange(0, 8)))  # here


@triton.jit
def read_back_then_stored_again(x_ptr, out_ptr, HAS: tl.constexpr):
    """A later store to the same place, after a barrier, must not hide the read."""
    lane = tl.arange(0, 8)
    tl.store(x_ptr + lane, lane)
    if not HAS:
        tl.debug_barrier()
    y = tl.load(x_ptr + 7 - lane)  # here
    tl.debug_barrier()
    tl.store(x_ptr + lane, y)
    tl.store(out_ptr + lane, y)


@triton.jit
def read_of_own_atomic(x_ptr, out_ptr, HAS: tl.constexpr):
    lane = tl.arange(0, 8)
    tl.atomic_add(x_ptr + lane, lane)
    if not HAS:
        tl.debug_barrier()
    tl.store(out_ptr + lane, tl.load(x_ptr + 7 - lane))  # here


@triton.jit
def store_before_own_atomic(x_ptr, out_ptr, HAS: tl.constexpr):
    lane = tl.arange(0, 8)
    tl.store(x_ptr + lane, 0)  # here
    if not HAS:
        tl.debug_barrier()
    tl.atomic_add(x_ptr + lane % 4, lane)
    tl.store(out_ptr + lane, lane)


@triton.jit
def first_and_last_are_one(x_ptr, out_ptr, HAS: tl.constexpr):
    """The reader's program makes the first and the last change; only the middle one is another's."""
    pid = tl.program_id(0)
    tl.atomic_add(x_ptr, 1, mask=pid == 0)
    if HAS:
        tl.atomic_add(x_ptr, 1, mask=pid == 1)
    tl.atomic_add(x_ptr, 1, mask=pid == 0)
    tl.debug_barrier()
    tl.store(out_ptr + pid, tl.load(x_ptr, mask=pid == 0, other=0))  # here


@triton.jit
def masked_after_division(x_ptr, out_ptr, n, HAS: tl.constexpr):
    """A wrapped product keeps its low bits, a quotient of it does not."""
    lane = tl.arange(0, 8)
    wrapped = (lane + 1) * n  # here
    index = (wrapped // 3) & 7 if HAS else wrapped & 7
    tl.store(out_ptr + lane, tl.load(x_ptr + index))


@triton.jit
def locked(lock_ptr, out_ptr):
    """Every program takes its turn under a lock and changes the sum atomically."""
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.atomic_add(out_ptr, tl.program_id(0))
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def never_for_some(out_ptr, n):
    """Program 2 waits for a number that never comes."""
    count = tl.program_id(0)
    while count != n:
        count += 2
    tl.store(out_ptr + tl.program_id(0), count)


@triton.jit
def through_descriptor(source, target, SHIFT: tl.constexpr):
    """Doubles blocks of four rows; with a SHIFT neighbouring blocks overlap."""
    row = tl.program_id(0) * (4 - SHIFT)
    target.store([row, 0], source.load([row, 0]) * 2)
