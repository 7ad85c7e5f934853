"""Atomic read-modify-write and compare-and-swap: lanes act one after another, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .access import checked_lanes, compress, full_tile, judge_taint, plain_lanes
from .binding import Binding, full_range, stored_dtype
from .conflicts import Access
from .elements import UNSIGNED, as_bits, decode, encode
from .memory import Buffer
from .mixed import pieces
from .program import Operation
from .registry import Step, operation
from .report import read_only, unwritten_atomic
from .run import Frame

Update = Callable[[Any, Any], Any]


def _unsigned(compute: Update) -> Update:
    def through(old: Any, new: Any) -> Any:
        unsigned = f"u{old.dtype.itemsize}"
        return compute(old.view(unsigned), new.view(unsigned)).view(old.dtype)

    return through


UPDATES: dict[str, Update] = {
    "add": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "max": np.maximum,
    "min": np.minimum,
    "umax": _unsigned(np.maximum),
    "umin": _unsigned(np.minimum),
    "exch": lambda old, new: new,
}


def update_for(word: str, element: str) -> Update:
    """Returns how one lane changes a location, on stored values."""
    if word == "fadd":
        return lambda old, new: encode(decode(old, element) + decode(new, element), element)
    if element not in UNSIGNED and word in ("max", "min"):
        choose = np.fmax if word == "max" else np.fmin
        return lambda old, new: encode(choose(decode(old, element), decode(new, element)), element)
    return UPDATES[word]


def rounds(where: Any) -> list[Any]:
    """Splits lanes into rounds of distinct addresses, in lane order for each address."""
    order = np.argsort(where, kind="stable")
    ordered = where[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, bool)
    if is_first.all():
        return [slice(None)]
    starts = np.flatnonzero(is_first)
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff([*starts, len(ordered)]))
    by_rank = np.argsort(rank, kind="stable")
    counts = np.bincount(rank)
    return [order[piece] for piece in np.split(by_rank, np.cumsum(counts)[:-1])]


def apply(view: Any, where: Any, change: Callable[[Any, Any], Any]) -> Any:
    """Changes locations lane by lane and returns what each lane found; `change` gets (old values, lanes)."""
    found = np.empty(len(where), view.dtype)
    for lanes in rounds(where):
        places = where[lanes]
        old = view[places]
        found[lanes] = old
        view[places] = change(old, lanes)
    return found


@operation("tt.atomic_rmw", "tt.atomic_cas", note="conflicts only with accesses that are not atomic")
def bind_atomic(op: Operation, binding: Binding) -> Step:
    p = op.operands[0]
    is_swap = op.name == "tt.atomic_cas"
    v = op.operands[2 if is_swap else 1]
    compared = op.operands[1] if is_swap else None
    m = op.operands[2] if not is_swap and len(op.operands) > 2 else None
    r = op.results[0]
    type_ = binding.type(v)
    update = None if is_swap else update_for(op.words[0], type_.element)
    zero = stored_dtype(type_).type(0)

    def step(frame: Frame) -> None:
        full = full_tile(frame, type_.shape)
        out = np.full(full, zero)
        for pointer, chosen in pieces(frame.data[p]):
            if binding.has_checks:
                offset, allowed = checked_lanes(frame, op, p, m, type_.shape, "write", pointer, chosen)
                for slot in (v, compared):
                    if slot is not None and frame.taint[slot] is not None:
                        judge_taint(frame, op, "atomic operand", frame.taint[slot], allowed, full, False)
            else:
                offset, allowed = plain_lanes(frame, p, m, type_.shape, pointer, chosen)
            where, values, wide = compress(offset, frame.data[v], allowed, full)
            if not len(where):
                continue
            expected = None if compared is None else compress(offset, frame.data[compared], allowed, full)[1]
            found = _act(frame, op, frame.run.buffers[pointer.base], type_.element, where, values, expected, wide, full)
            if wide is None:
                out = found.reshape(full)
            else:
                out[wide] = found
        frame.data[r], frame.taint[r] = out, None
        if m is not None and binding.has_checks and not frame.data[m].all():
            code = frame.run.code("masked-off lane without other", op, True)
            frame.taint[r] = np.where(frame.data[m], np.int16(0), np.int16(code))
        frame.ranges[r] = full_range(type_) if type_.is_integer else None

    def _act(
        frame: Frame,
        op: Operation,
        buffer: Buffer,
        element: str,
        where: Any,
        values: Any,
        expected: Any,
        wide: Any,
        full: Any,
    ) -> Any:
        view = buffer.view(element)
        note(frame, op, buffer, where, wide, full)
        if expected is not None:
            # the hardware compares bits: -0.0 is not 0.0, and a NaN is itself
            wanted = as_bits(expected)
            return apply(view, where, lambda old, lanes: np.where(as_bits(old) == wanted[lanes], values[lanes], old))
        assert update is not None  # only compare-and-swap has none
        return apply(view, where, lambda old, lanes: update(old, values[lanes]))

    return step


def note(frame: Frame, op: Operation, buffer: Buffer, where: Any, wide: Any, full: Any) -> None:
    """Checks and logs the lanes of an atomic access."""
    run = frame.run
    if not run.has_checks:
        return
    if buffer.is_read_only:
        read_only(frame, op, buffer, where, wide, full)
    if buffer.shadow is not None:
        fresh = ~buffer.shadow[where]
        if fresh.any():
            unwritten_atomic(frame, op, buffer, where, fresh, wide, full)
        buffer.shadow[where] = True
    if buffer.log is not None:
        run.sequence += 1
        access = Access(op, buffer, run.sequence, run.epoch, full, frame.start, wide, offset=where, is_flat=True)
        buffer.log.atomics.append(access)
