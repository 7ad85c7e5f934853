"""Operations that talk or judge: device_assert, device_print; and addresses as integers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .access import NOWHERE, judge_taint, participating
from .binding import Binding, full_range
from .cells import join
from .elements import decode, item_bytes
from .memory import Buffer
from .mixed import from_addresses, pieces
from .program import Operation
from .registry import Step, operation
from .run import Frame, places


@operation("tt.assert", note="checked always, as with TRITON_DEBUG=1; a failing one is a hazard")
def bind_assert(op: Operation, binding: Binding) -> Step | None:
    c = op.operands[0]
    shape = binding.type(c).shape
    message = str(op.attributes.get("text", ""))
    if not binding.has_checks:
        return None

    def step(frame: Frame) -> None:
        full = frame.sizes + shape
        allowed = participating(frame, None, len(shape))
        if frame.taint[c] is not None:
            allowed = judge_taint(frame, op, "assertion", frame.taint[c], allowed, full, False)
        failed = ~frame.data[c] if allowed is None else allowed & ~frame.data[c]
        if not failed.any():
            return
        flat = np.flatnonzero(np.broadcast_to(failed, full))
        programs, lanes = places(frame, full, flat)
        frame.run.report("failed device_assert", op, programs=programs, lanes=lanes, count=len(flat), note=message)

    return step


@operation("tt.print", note="prints whole tiles, one line for each operand")
def bind_print(op: Operation, binding: Binding) -> Step:
    types = [binding.type(slot) for slot in op.operands]
    in_hex = op.attributes.get("hex") == "true"
    text = str(op.attributes.get("text", "")).strip()

    def step(frame: Frame) -> None:
        for slot, type_ in zip(op.operands, types, strict=True):
            data = frame.data[slot]
            shown = np.asarray(decode(data, type_.element) if type_.is_float and not in_hex else data)
            if frame.active is not None:
                # only of the programs that are here, one after another
                shown = np.broadcast_to(shown, frame.sizes + shown.shape[binding.axes :])[frame.active]
            formats: Any = {"all": hex} if in_hex else None
            if in_hex and shown.dtype != bool:
                shown = shown.view(f"u{shown.dtype.itemsize}")
            print(f"{frame.run.kernel} {text} {np.array2string(shown, threshold=64, formatter=formats)}")

    return step


@operation("tt.ptr_to_int")
def bind_to_address(op: Operation, binding: Binding) -> Step:
    a, r = op.operands[0], op.results[0]
    item = item_bytes(binding.type(a).element)

    def step(frame: Frame) -> None:
        out: Any = None
        for pointer, chosen in pieces(frame.data[a]):
            address = pointer.offset() * item + frame.run.buffers[pointer.base].address
            out = address if chosen is None or out is None else np.where(chosen, address, out)
        frame.data[r], frame.taint[r] = out, frame.taint[a]
        frame.ranges[r] = full_range(binding.type(r))

    return step


@operation("tt.int_to_ptr", note="finds the argument that an address lies in; others are not supported")
def bind_from_address(op: Operation, binding: Binding) -> Step:
    a, r = op.operands[0], op.results[0]
    item = item_bytes(binding.type(r).element)

    def step(frame: Frame) -> None:
        frame.data[r] = from_addresses(frame.run, frame.data[a], item, _nowhere(item))
        frame.taint[r] = frame.taint[a]

    return step


def _nowhere(item: int) -> Buffer:
    """Returns a buffer without elements, for addresses that belong to no argument."""
    empty: Any = SimpleNamespace(data_ptr=lambda: 0, element_size=lambda: item, shape=(0,), stride=lambda: (1,))
    return Buffer(NOWHERE, empty)


SYMBOLS: dict[str, str] = {
    "exp": "math.exp",
    "exp2": "math.exp2",
    "expm1": "math.expm1",
    "log": "math.log",
    "log2": "math.log2",
    "log10": "math.log10",
    "log1p": "math.log1p",
    "sin": "math.sin",
    "cos": "math.cos",
    "tan": "math.tan",
    "tanh": "math.tanh",
    "erf": "math.erf",
    "sqrt": "math.sqrt",
    "rsqrt": "math.rsqrt",
    "fabs": "math.absf",
    "floor": "math.floor",
    "ceil": "math.ceil",
    "trunc": "math.trunc",
    "rint": "math.roundeven",
    "pow": "math.powf",
    "fmod": "arith.remf",
    "atan2": "math.atan2",
    "copysign": "math.copysign",
    "fmax": "arith.maxnumf",
    "fmin": "arith.minnumf",
}


@operation("tt.extern_elementwise", note="libdevice functions: " + ", ".join(SYMBOLS))
def bind_extern(op: Operation, binding: Binding) -> Step:
    from .elements import encode
    from .floats import BINARY, UNARY

    symbol = str(op.attributes.get("symbol", op.attributes.get("text", ""))).strip('"')
    name = symbol.removeprefix("__nv_")
    name = name if name in SYMBOLS else name.removesuffix("f")
    if not symbol.startswith("__nv_") or name not in SYMBOLS:
        raise binding.unsupported(op, symbol)
    known: dict[str, Any] = {**BINARY, **UNARY}
    compute = known[SYMBOLS[name]]
    r = op.results[0]
    element = binding.type(r).element

    def step(frame: Frame) -> None:
        mark = None
        for slot in op.operands:
            mark = join(mark, frame.taint[slot])
        values = [decode(frame.data[slot], element) for slot in op.operands]
        frame.data[r], frame.taint[r] = encode(compute(*values), element), mark

    return step
