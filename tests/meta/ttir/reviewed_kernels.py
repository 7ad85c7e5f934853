"""Kernels of the reviewers' findings that were mended."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def returns_early(flag_ptr, x_ptr, out_ptr, BLOCK: tl.constexpr):
    """Stores a tile that it loaded before it may return."""
    lane = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lane)
    if tl.load(flag_ptr + tl.program_id(0)) == 0:
        return
    tl.store(out_ptr + tl.program_id(0) * BLOCK + lane, x)


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def multiply(a, b):
    return a * b


# two functions of one name, as after an edit
SUM, PRODUCT = add, multiply
PRODUCT.__name__ = SUM.__name__


@triton.jit
def applied(x_ptr, out_ptr, FUNCTIONS: tl.constexpr):
    tl.store(out_ptr, FUNCTIONS[0](tl.load(x_ptr), 5))


@triton.jit
def ticket(count_ptr, out_ptr, n, HAS: tl.constexpr):
    """Uses the ticket of a masked-off atomic where it HAS the hazard."""
    lane = tl.arange(0, 8)
    place = tl.atomic_add(count_ptr + lane * 0, 1, mask=lane < n)
    tl.store(out_ptr + lane, place, mask=lane < (n + 1 if HAS else n))


@triton.jit
def described(size_ptr, x_ptr, out_ptr):
    """Loads through a descriptor whose size comes from memory, one for each program."""
    pid = tl.program_id(0)
    made = tl.make_tensor_descriptor(x_ptr, [tl.load(size_ptr + pid)], [1], [16])
    tl.store(out_ptr + pid * 16 + tl.arange(0, 16), made.load([0]))


@triton.jit
def counted(x_ptr, out_ptr, n, MASKED: tl.constexpr):
    lane = tl.arange(0, 8)
    x = tl.load(x_ptr + lane, mask=lane < n)
    bins = tl.histogram(x, 8, mask=lane < n) if MASKED else tl.histogram(x, 8)
    tl.store(out_ptr + lane, bins)


@triton.jit
def swapped(x_ptr, expected, value):
    tl.atomic_cas(x_ptr, expected, value)


@triton.jit
def locked_in_the_body(lock_ptr, out_ptr):
    """Waits for its turn with the question at the end of the loop's body."""
    turn = tl.atomic_add(lock_ptr, 0)
    while turn < tl.program_id(0):
        turn = tl.atomic_add(lock_ptr, 0)
    tl.atomic_add(out_ptr, tl.program_id(0))
    tl.atomic_add(lock_ptr, 1)


@triton.jit
def waits_for_ever(lock_ptr):
    while tl.atomic_add(lock_ptr, 0) == 0:
        pass


@triton.jit
def walked(x_ptr, out_ptr, step):
    """Comes back to where it started, around the end of 64 bits."""
    for _ in range(8):
        x_ptr += step
    tl.store(out_ptr, tl.load(x_ptr))


@triton.jit
def printed(x_ptr):
    if tl.program_id(0) == 1:
        tl.device_print('a "quoted" word', tl.load(x_ptr + tl.program_id(0)))


@triton.jit
def outside_then_unknown(x_ptr, address, out_ptr):
    """Reads outside of its tensor, then through an address that belongs to none."""
    x = tl.load(x_ptr + 9)
    other = tl.load(address.to(tl.int64).to(tl.pointer_type(tl.float32)))
    tl.store(out_ptr, x + other)


@triton.jit
def stores_again(out_ptr, n):
    """Stores to one tile round after round, barriers between."""
    lane = tl.arange(0, 8)
    for i in range(n):
        tl.store(out_ptr + lane, i)
        tl.debug_barrier()
