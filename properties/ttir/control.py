"""scf.for, scf.if, scf.while, calls: one path where programs agree, masks where they part."""

from __future__ import annotations

from typing import Any

import numpy as np

from .access import judge_taint
from .binding import Binding, stored_dtype
from .cells import choose, read, write
from .program import Block, Location, Operation
from .registry import Step, operation
from .run import Frame, places

TERMINATORS = (
    "scf.yield",
    "scf.condition",
    "tt.return",
    "tt.reduce.return",
    "tt.scan.return",
    "cf.br",
    "cf.cond_br",
)


@operation(*TERMINATORS)
def bind_terminator(op: Operation, binding: Binding) -> None:
    """Terminators are read by whatever owns their block."""


@operation("llvm.intr.assume", note="no effect")
def bind_nothing(op: Operation, binding: Binding) -> None:
    """Has no effect on values."""


@operation("gpu.barrier", "ttg.barrier", "ttg.local_barrier", note="orders the accesses of a program")
def bind_barrier(op: Operation, binding: Binding) -> Step:
    def step(frame: Frame) -> None:
        frame.run.pass_barrier(frame.active)

    return step


def terminator(block: Block) -> Operation:
    """Returns the operation that ends a block; MLIR leaves out a yield of nothing."""
    last = block.operations[-1] if block.operations else None
    if last is not None and last.name in TERMINATORS:
        return last
    return Operation("scf.yield", (), (), {}, (), last.location if last else Location())


def narrowed(frame: Frame, condition: Any) -> Any:
    """Returns the active programs for which the condition holds."""
    wide = np.broadcast_to(condition, frame.sizes)
    return wide if frame.active is None else frame.active & wide


def everyone(frame: Frame) -> Any:
    """Returns the active programs as a mask."""
    return narrowed(frame, np.ones((1,) * len(frame.sizes), bool))


def endless(frame: Frame, op: Operation, alive: Any, note: str) -> None:
    """Reports the programs that a loop does not let go."""
    flat = np.flatnonzero(np.broadcast_to(alive, frame.sizes))
    programs, lanes = places(frame, frame.sizes, flat)
    frame.run.is_stuck = True
    frame.run.report("loop that does not end", op, programs=programs, lanes=lanes, count=len(flat), note=note)


def judge_branch(frame: Frame, op: Operation, slot: int) -> None:
    """Reports an undefined condition or bound of active programs."""
    mark = frame.taint[slot]
    if mark is not None:
        judge_taint(frame, op, "branch", mark, frame.active, frame.sizes, False)


@operation("scf.if", note="programs that part ways run both sides under masks")
def bind_if(op: Operation, binding: Binding) -> Step:
    condition = op.operands[0]
    sides = [(binding.block(region.entry), terminator(region.entry).operands) for region in op.regions]
    if len(sides) == 1:
        sides.append(([], ()))
    ranks = [binding.type(slot).rank for slot in op.results]

    def take(frame: Frame, side: int) -> None:
        steps, outs = sides[side]
        for step in steps:
            step(frame)
        for cell, slot in zip([read(frame, out) for out in outs], op.results, strict=False):
            write(frame, slot, cell)

    def step(frame: Frame) -> None:
        if binding.has_checks:
            judge_branch(frame, op, condition)
        value = frame.data[condition]
        if value.size == 1:
            take(frame, 0 if value.flat[0] else 1)
            return
        yes, no = narrowed(frame, value), narrowed(frame, ~value)
        if not no.any():
            take(frame, 0)
        elif not yes.any():
            take(frame, 1)
        else:
            _both(frame, value, yes, no)

    def _both(frame: Frame, value: Any, yes: Any, no: Any) -> None:
        outer = frame.active
        frame.active = yes
        take(frame, 0)
        first = [read(frame, slot) for slot in op.results]
        frame.active = no
        take(frame, 1)
        frame.active = outer
        for slot, cell, rank in zip(op.results, first, ranks, strict=True):
            write(frame, slot, choose(value, cell, read(frame, slot), rank))

    return step


@operation("scf.for", note="bounds may differ from program to program")
def bind_for(op: Operation, binding: Binding) -> Step:
    low, high, stride = op.operands[:3]
    initial = op.operands[3:]
    block = op.regions[0].entry
    variable, arguments = block.arguments[0], block.arguments[1:]
    steps, outs = binding.block(block), terminator(block).operands
    dtype = stored_dtype(binding.type(variable))
    ones = (1,) * binding.axes
    is_unsigned = "unsigned" in op.words

    def step(frame: Frame) -> None:
        if binding.has_checks:
            for slot in (low, high, stride):
                judge_branch(frame, op, slot)
        move(frame, initial, arguments)
        bounds = [frame.data[slot] for slot in (low, high, stride)]
        if is_unsigned:
            bounds = [bound.view(f"u{bound.dtype.itemsize}") for bound in bounds]
        if all(bound.size == 1 for bound in bounds):
            uniform(frame, *(int(bound.flat[0]) for bound in bounds))
        else:
            parted(frame, *bounds)
        move(frame, arguments, op.results)

    def uniform(frame: Frame, first: int, last: int, by: int) -> None:
        limit = frame.run.loop_limit
        if by <= 0:
            endless(frame, op, everyone(frame), f"its step is {by}")
            return
        for count, number in enumerate(range(first, last, by)):
            if count >= limit:
                endless(frame, op, everyone(frame), f"stopped after {limit} rounds")
                return
            frame.data[variable] = np.full(ones, number, dtype)
            frame.taint[variable] = None
            frame.ranges[variable] = (number, number)
            for inner in steps:
                inner(frame)
            move(frame, outs, arguments)

    def parted(frame: Frame, first: Any, last: Any, by: Any) -> None:
        outer, limit = frame.active, frame.run.loop_limit
        current = np.broadcast_to(first, frame.sizes)
        standing = narrowed(frame, by <= 0)
        if standing.any():
            endless(frame, op, standing, "its step is not positive in some program")
        count = 0
        while True:
            frame.active = outer
            alive = narrowed(frame, (current < last) & (by > 0))
            if not alive.any():
                break
            if count >= limit:
                endless(frame, op, alive, f"stopped after {limit} rounds")
                break
            frame.active = alive
            frame.data[variable] = current.astype(dtype)
            frame.taint[variable] = None
            frame.ranges[variable] = (int(current.min()), int(current.max()))
            old = [read(frame, slot) for slot in arguments]
            for inner in steps:
                inner(frame)
            merge(frame, alive, outs, old, arguments)
            current = current + by
            count += 1
        frame.active = outer

    return step


def move(frame: Frame, sources: Any, targets: Any) -> None:
    """Copies slots to slots at once, as a permutation may be meant."""
    cells = [read(frame, slot) for slot in sources]
    for slot, cell in zip(targets, cells, strict=True):
        write(frame, slot, cell)


def merge(frame: Frame, alive: Any, sources: Any, old: Any, targets: Any) -> None:
    """Gives live programs the new values and leaves the others theirs."""
    if alive.all():
        move(frame, sources, targets)
        return
    cells = [read(frame, slot) for slot in sources]
    for slot, cell, before in zip(targets, cells, old, strict=True):
        write(frame, slot, choose(alive, cell, before, 0))


@operation("scf.while", note="each program leaves when its own condition fails; bounded")
def bind_while(op: Operation, binding: Binding) -> Step:
    before, after = op.regions[0].entry, op.regions[1].entry
    before_steps, after_steps = binding.block(before), binding.block(after)
    condition, *passed = terminator(before).operands
    outs = terminator(after).operands

    def step(frame: Frame) -> None:
        outer, limit = frame.active, frame.run.loop_limit
        alive = everyone(frame)
        move(frame, op.operands, before.arguments)
        results: list[Any] = []
        for count in range(limit + 1):
            frame.active = None if outer is None and alive.all() else alive
            old = [read(frame, slot) for slot in before.arguments]
            for inner in before_steps:
                inner(frame)
            if binding.has_checks:
                judge_branch(frame, op, condition)
            cells = [read(frame, slot) for slot in passed]
            going = narrowed(frame, frame.data[condition])
            if count == 0:
                results = cells
            elif not alive.all():
                results = [choose(alive, new, kept, 0) for new, kept in zip(cells, results, strict=True)]
            else:
                results = cells
            if not going.any():
                break
            if count == limit:
                endless(frame, op, going, f"stopped after {limit} rounds")
                break
            for slot, cell in zip(after.arguments, cells, strict=True):
                write(frame, slot, cell)
            frame.active = None if outer is None and going.all() else going
            for inner in after_steps:
                inner(frame)
            merge(frame, going, outs, old, before.arguments)
            alive = going
        frame.active = outer
        for slot, cell in zip(op.results, results, strict=True):
            write(frame, slot, cell)

    return step


@operation("tt.call")
def bind_call(op: Operation, binding: Binding) -> Step:
    plan = binding.callee(str(op.attributes["callee"]))
    body = plan.function.body

    def step(frame: Frame) -> None:
        inner = Frame(
            frame.run, frame.start, frame.sizes, plan.data.copy(), [None] * len(plan.data), plan.ranges.copy()
        )
        inner.active = frame.active
        for argument, slot in zip(plan.function.arguments, op.operands, strict=True):
            write(inner, argument, read(frame, slot))
        for inner_step in plan.steps:
            inner_step(inner)
        cells = inner.returned
        if cells is None:
            cells = [read(inner, slot) for slot in terminator(body.blocks[-1]).operands]
        for slot, cell in zip(op.results, cells, strict=True):
            write(frame, slot, cell)

    return step
