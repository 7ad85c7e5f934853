"""The machine: takes over kernel launches, runs every program of the grid at once, keeps what it saw."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from functools import lru_cache
from types import TracebackType
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from . import cache, frontend, operations  # noqa: F401  # operations fills the registry when imported
from .accesses import Accesses
from .binding import Plan, bind_kernel
from .conflicts import Extent
from .descriptors import on_host
from .elements import SIGNED_RANGE, STORED, encode
from .fresh import Fresh
from .hazard import Hazard, Unsupported
from .launching import TAPES, Launch, chunks, grid_hazards, grid_of, is_capturing
from .memory import Buffer
from .pointers import Pointer
from .program import Program, Type
from .run import Frame, Run

HAZARD_LIMIT = 1000
_plans: dict[tuple[int, bool, bool, int], tuple[Program, Plan]] = {}


class Machine:
    """Runs Triton launches on CPU tensors while it is active, and collects hazards.

    `checks` looks for hazards; `fma` contracts products and sums as the GPU's compiler does; a loop of
    more than `loop_limit` rounds is stopped and reported; tensors in `read_only` must not be stored to.
    Autotuned kernels run in configuration number `configuration` of those that their prune hooks leave.
    `accesses` logs every load and store, where it is given.
    """

    def __init__(
        self,
        checks: bool = True,
        fma: bool = True,
        loop_limit: int = 100_000,
        read_only: Sequence[Any] = (),
        configuration: int = 0,
        accesses: Accesses | None = None,
    ) -> None:
        self.checks = checks
        self.fma = fma
        self.loop_limit = loop_limit
        self.read_only = {tensor.untyped_storage().data_ptr() for tensor in read_only}
        self.hazards: list[Hazard] = []
        self.dropped = 0
        self.launches: list[Launch] = []
        self.fresh = Fresh()
        self._keys: set[tuple] = set()
        self.configuration = configuration
        self.accesses = accesses
        self._interceptions: list[ExitStack] = []

    @property
    def specialisations(self) -> int:
        """Returns how many distinct specialisations this machine has met."""
        return len(self._keys)

    def __enter__(self) -> Machine:
        frontend.refuse_interpreter()
        taken_over = ExitStack()
        taken_over.callback(frontend.Interception(self._launch).restore)
        taken_over.enter_context(frontend.choosing(self.configuration))
        # torch without CUDA raises when asked; torch with it does not know the tapes
        taken_over.enter_context(patch.object(torch.cuda.graphs, "_cuda_isCurrentStreamCapturing", is_capturing))
        self._interceptions.append(taken_over)
        if self.checks:
            self.fresh.enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.checks:
            self.fresh.exit()
        self._interceptions.pop().close()

    def clear(self) -> None:
        """Forgets hazards and launches; a launch holds on to its tensors."""
        self.hazards.clear()
        self.launches.clear()
        self.dropped = 0

    def unwritten(self, tensor: Any) -> Hazard | None:
        """Returns a hazard if elements of a tensor made by torch.empty in this machine were never written."""
        place = ("tensor", "<no launch>", "<unknown>", 0)
        for launch in self.launches:
            for name, argument in launch.tensors.items():
                if getattr(argument, "base", argument).data_ptr() == tensor.data_ptr():
                    code = launch.function.fn.__code__
                    place = (name, launch.kernel, code.co_filename, code.co_firstlineno)
        return self.fresh.unwritten(tensor, place)

    def replay(self, launches: Sequence[Launch] | None = None) -> None:
        """Runs recorded launches again with the same scalars and addresses, as a CUDA graph does."""
        for launch in list(self.launches if launches is None else launches):
            self._run(launch.bound, launch.function.__name__, launch.grid)

    def _launch(self, function: Any, args: tuple, grid: Any, kwargs: dict[str, Any]) -> None:
        # our own questions to tensors need no watching
        with torch._C.DisableTorchFunction():
            self._bind_and_run(function, args, grid, kwargs)

    def _bind_and_run(self, function: Any, args: tuple, grid: Any, kwargs: dict[str, Any]) -> None:
        bound = frontend.bind(function, args, kwargs)
        sizes = grid_of(grid, bound.arguments)
        self._keys.add(bound.key)
        is_tensor = {name: hasattr(value, "data_ptr") or hasattr(value, "base") for name, value in bound.leaves}
        self.launches.append(
            Launch(
                function.__name__,
                sizes,
                {name: value for name, value in bound.leaves if not is_tensor[name]},
                {name: value for name, value in bound.leaves if is_tensor[name]},
                function,
                bound,
            )
        )
        with TAPES[-1].launching(self.launches[-1]) if TAPES else nullcontext():
            self._run(bound, function.__name__, sizes)

    def _run(self, bound: frontend.Bound, kernel: str, grid: tuple[int, int, int]) -> None:
        program = cache.program(bound)
        run = Run(kernel, grid, self.loop_limit, self.checks)
        if self.checks:
            self._keep(grid_hazards(kernel, program.kernel.location, grid))
        if min(grid) <= 0:
            return
        plan = self._plan(program, len(run.axes))
        run.tokens.begin()
        run.has_atomics = plan.has_atomics
        if self.accesses is not None:
            run.accesses = self.accesses
            self.accesses.launches += 1
        values = self._arguments(plan, bound, run)
        try:
            with np.errstate(all="ignore"):
                _run_chunks(plan, run, values)
        finally:  # also what was seen before an operation that is not supported
            self._keep(run.hazards())

    def _plan(self, program: Program, axes: int) -> Plan:
        key = (id(program), self.checks, self.fma, axes)
        found = _plans.get(key)
        if found is None:
            # the program is kept beside its plan, so its id stays its own
            found = _plans[key] = (program, bind_kernel(program, self.checks, self.fma, axes))
        return found[1]

    def _arguments(self, plan: Plan, bound: frontend.Bound, run: Run) -> list[tuple[int, Any, Any]]:
        axes, function = len(run.axes), plan.function
        if len(function.arguments) != len(bound.leaves):
            raise Unsupported(
                f"kernel {function.name} takes {len(function.arguments)} arguments in TTIR, "
                f"but {len(bound.leaves)} were bound: {', '.join(name for name, _ in bound.leaves)}"
            )
        values: list[tuple[int, Any, Any]] = []
        buffers: list[tuple[int, Buffer]] = []
        for number, (slot, (name, value)) in enumerate(zip(function.arguments, bound.leaves, strict=True)):
            type_ = function.types[slot]
            if type_.is_pointer or type_.is_descriptor:
                buffers.append((number, self._buffer(name, value)))
                pointer = Pointer(len(buffers) - 1, (), 0, 0, axes)
                values.append((slot, on_host(pointer, value) if type_.is_descriptor else pointer, None))
            else:
                values.append((slot, *scalar(name, value, type_, axes)))
        run.buffers = [buffer for _, buffer in buffers]
        run.argument_count = len(run.buffers)
        if self.checks:
            _connect(run, buffers, plan.stores_to)
        return values

    def _buffer(self, name: str, value: Any) -> Buffer:
        # triton's reinterpreted tensors and descriptors carry theirs in `base`
        tensor = value if isinstance(value, torch.Tensor) else getattr(value, "base", value)
        if not isinstance(tensor, torch.Tensor):
            raise Unsupported(f"argument {name} = {value!r} is not a tensor; pointers must come from CPU tensors")
        if not tensor.is_cpu:
            raise Unsupported(f"argument {name} is on {tensor.device}; the machine takes CPU tensors")
        buffer = Buffer(name, tensor)
        if self.checks:
            if self.fresh.may_know(tensor, buffer.address, buffer.item):
                buffer.shadow = self.fresh.shadow(tensor)
            if self.read_only:
                buffer.is_read_only = tensor.untyped_storage().data_ptr() in self.read_only
        return buffer

    def _keep(self, hazards: Sequence[Hazard]) -> None:
        room = HAZARD_LIMIT - len(self.hazards)
        self.hazards += hazards[:room]
        self.dropped += max(0, len(hazards) - room)


def _run_chunks(plan: Plan, run: Run, values: list[tuple[int, Any, Any]]) -> None:
    """Runs all programs, then judges what they did together."""
    for start, sizes in chunks(run.grid, run.axes, plan.lanes, plan.is_serial):
        run.begin_chunk()
        frame = _frame(plan, run, start, sizes, values)
        for step in plan.steps:
            step(frame)
        if plan.is_serial and run.is_stuck:
            break  # whoever holds the lock will not give it back
    for extent in run.extents:
        extent.finish()


def _frame(plan: Plan, run: Run, start: Any, sizes: Any, values: list[tuple[int, Any, Any]]) -> Frame:
    """Returns a frame whose prologue has run, now or in an earlier launch with the same scalars."""
    blank = [None] * len(plan.data)
    # a pointer is known by its argument alone
    scalars = tuple(span or value.tobytes() for _, value, span in values if type(value) is not Pointer)
    key = (scalars, run.grid, start, sizes)
    found = plan.memory.find(key)
    if found is not None:
        return Frame(run, start, sizes, found[0].copy(), blank, found[1].copy())
    frame = Frame(run, start, sizes, plan.data.copy(), blank, plan.ranges.copy())
    for slot, value, span in values:
        frame.data[slot], frame.ranges[slot] = value, span
    for step in plan.prologue:
        step(frame)
    plan.memory.keep(key, frame)
    return frame


def scalar(name: str, value: Any, type_: Type, axes: int) -> tuple[np.ndarray, tuple[int, int] | None]:
    """Returns a scalar argument as an array of one item, and its range."""
    element = type_.element
    if type_.is_integer:
        low, high = SIGNED_RANGE[element]
        number = int(value)
        if number > high:
            number -= 2 * (high + 1)  # unsigned arguments are carried as the same bits
        if not low <= number <= high:
            raise ValueError(f"argument {name} = {value} does not fit {element}")
        return _one_integer(number, element, axes), (number, number)
    return encode(np.full((1,) * axes, float(value), np.float64), element), None


@lru_cache(maxsize=4096)
def _one_integer(number: int, element: str, axes: int) -> np.ndarray:
    """Returns an array that nobody writes to; floats are not shared, as 0.0 would stand for -0.0 too."""
    return np.full((1,) * axes, number, STORED[element])


def _connect(run: Run, buffers: list[tuple[int, Buffer]], stored: frozenset[int] | None) -> None:
    """Gives every buffer whose storage this launch may write a log shared with what overlaps it."""
    for number, buffer in buffers:
        if buffer.log is not None or not buffer.extent or (stored is not None and number not in stored):
            continue
        low, high, members = buffer.address, buffer.end, [buffer]
        while True:
            found = [other for _, other in buffers if other.extent and other.address < high and other.end > low]
            if len(found) == len(members):
                break
            # what overlaps the newcomers belongs here too
            low, high = min(other.address for other in found), max(other.end for other in found)
            members = found
        extent = Extent(run, low, high, min(other.item for other in members))
        run.extents.append(extent)
        for member in members:
            member.log = extent
