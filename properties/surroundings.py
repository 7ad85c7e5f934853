"""What a call must leave as it was: random numbers, defaults, environment, and the terminal in peace."""

from __future__ import annotations

import ctypes
import io
import operator
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _device

from properties import tally
from properties.hearing import Heard
from properties.leaving import staying
from properties.printable import printable
from properties.verdict import Violation

# The property that a change belongs to, wherever it is seen.
PROPERTY = {"fused_sconv": "cache.process_frame", "sconv_seq_metadata": "metadata.process_frame"}

# What an operator did that no property forbids: how often, and what it did first.
NOTES: dict[str, tuple[int, str]] = {}

_NUMPY_STATE = 2500  # bytes of its Mersenne twister: 624 words and a position


@dataclass(frozen=True)
class Setting:
    """One thing that belongs to the whole process: how to read it and how to put it back; `told` names a change."""

    name: str
    read: Callable[[], Any]
    restore: Callable[[Any], object]
    told: Callable[[Any, Any], str] = lambda before, after: f"from {before} to {after}"
    is_forbidden: bool = True
    differs: Callable[[Any, Any], bool] = operator.ne


def _generator_state(generator: torch.Generator) -> bytes:
    state = generator.get_state()
    with torch._C.DisableTorchFunction():  # no mode that watches the call sees this
        return ctypes.string_at(state.data_ptr(), state.numel())


def _set_generator_state(generator: torch.Generator, state: bytes) -> None:
    generator.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))


def _cuda_random() -> bytes | None:
    if not torch.cuda.is_initialized() or torch.cuda.is_current_stream_capturing():
        return None  # a graph being captured counts its random numbers itself
    return _generator_state(torch.cuda.default_generators[torch.cuda.current_device()])


def _set_cuda_random(state: bytes) -> None:
    _set_generator_state(torch.cuda.default_generators[torch.cuda.current_device()], state)


def _numpy_address() -> int:
    return int(np.random.mtrand._rand._bit_generator.ctypes.state_address)  # get_state() copies for 70 us


def _environment() -> dict[Any, Any]:
    return os.environ._data.copy()  # type: ignore[attr-defined]  # dict(os.environ) decodes for 46 us


def _set_environment(wanted: dict[Any, Any]) -> None:
    for name in {**wanted, **_environment()}:
        if name in wanted:
            os.environb[name] = wanted[name]
        else:
            del os.environb[name]


def _variables(before: dict[Any, Any], after: dict[Any, Any]) -> str:
    names = sorted(os.fsdecode(one) for one in {**before, **after} if before.get(one) != after.get(one))
    return printable(f"in {', '.join(names)}")


def _set_filters(wanted: list[Any]) -> None:
    warnings.filters[:] = wanted  # type: ignore[index]  # a list, though typeshed says less
    warnings._filters_mutated()  # type: ignore[attr-defined]  # as warnings.simplefilter does


def _nowhere(before: Any, after: Any) -> str:
    return ""


# Where an operator finds the functions that it calls.
_OF_TORCH: dict[str, Any] = {"torch": torch, "torch.nn.functional": torch.nn.functional, "torch.Tensor": torch.Tensor}


def _functions() -> dict[str, dict[str, Any]]:
    return {home: vars(one).copy() for home, one in _OF_TORCH.items()}  # dict(vars(one)) takes three times as long


def _replaced(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> list[tuple[str, str]]:
    """What stands for something else now, as home and name; what a late import adds, or wraps as Dynamo does, may."""
    found = []
    for home, old in before.items():
        new = after[home]
        names = [name for name in old if new.get(name) is not old[name] and not isinstance(old[name], type)]
        if home == "torch.Tensor":  # most of its methods are those of a class in C, which new ones hide
            names += sorted(name for name in new.keys() - old.keys() if hasattr(torch._C.TensorBase, name))
        wrapped = {name for name in names if name in old and getattr(new.get(name), "__wrapped__", None) is old[name]}
        found += [(home, name) for name in names if name not in wrapped]
    return found


def _set_functions(wanted: dict[str, dict[str, Any]]) -> None:
    for home, name in _replaced(wanted, _functions()):
        if name in wanted[home]:
            setattr(_OF_TORCH[home], name, wanted[home][name])
        else:
            delattr(_OF_TORCH[home], name)


SETTINGS = (
    # First, since the others are put back with them.
    Setting(
        "functions of torch",
        _functions,
        _set_functions,
        lambda before, after: f"({', '.join('.'.join(one) for one in _replaced(before, after))})",
        is_forbidden=False,
        differs=lambda before, after: before != after and bool(_replaced(before, after)),
    ),
    Setting("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
    Setting("torch's default device", lambda: _device.CURRENT_DEVICE, torch.set_default_device),
    Setting("torch's gradient mode", torch.is_grad_enabled, torch._C._set_grad_enabled),
    Setting(
        "torch's deterministic mode",
        lambda: (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
        lambda modes: torch.use_deterministic_algorithms(modes[0], warn_only=modes[1]),
        lambda before, after: f"from {before[0]} to {after[0]}",
    ),
    Setting("torch's matmul precision", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    Setting("torch's number of threads", torch.get_num_threads, torch.set_num_threads),
    Setting(
        "the state of torch's random numbers",
        lambda: _generator_state(torch.default_generator),
        lambda state: _set_generator_state(torch.default_generator, state),
        _nowhere,
    ),
    Setting(
        "the state of CUDA's random numbers",
        _cuda_random,
        _set_cuda_random,
        _nowhere,
        differs=lambda before, after: None not in (before, after) and before != after,
    ),
    Setting("the state of Python's random numbers", random.getstate, random.setstate, _nowhere),
    Setting(
        "the state of NumPy's random numbers",
        lambda: ctypes.string_at(_numpy_address(), _NUMPY_STATE),
        lambda state: ctypes.memmove(_numpy_address(), state, _NUMPY_STATE),
        _nowhere,
    ),
    Setting("the environment", _environment, _set_environment, _variables),
    Setting("the working directory", os.getcwd, os.chdir),
    # Modules that a call imports late set filters of their own.
    Setting("the warning filters", lambda: list(warnings.filters), _set_filters, _nowhere, is_forbidden=False),
)


def changes(before: list[Any], *left: str) -> list[tuple[Setting, str]]:
    """The settings that are no longer as read before, in words; all are put back but those named in `left`."""
    found = []
    for setting, old in zip(SETTINGS, before, strict=True):
        new = setting.read()
        if setting.differs(old, new):
            if setting.name not in left:
                setting.restore(old)
            found.append((setting, f"changed {setting.name} {setting.told(old, new)}".rstrip()))
    return found


def state() -> list[Any]:
    """Every setting as it is now."""
    return [setting.read() for setting in SETTINGS]


@contextmanager
def kept(called: str, judged: str, case: object) -> Iterator[None]:
    """Surrounds one call of an operator, while property `judged` is judged: what it changes is put back and told."""
    __tracebackhide__ = True
    before, failed = state(), True
    try:
        with listening(called), staying():
            yield
        failed = False
    finally:
        forbidden = []
        for setting, words in changes(before):
            if setting.is_forbidden:
                forbidden.append(words)
            else:
                note(f"{called} {words}")
        if forbidden:
            found = Violation(PROPERTY[called], called, got=" and ".join(forbidden), case=case)
            found.then = "a call changes nothing but the cache" if called == "fused_sconv" else ""
            if judged == found.property_name and not failed:
                raise found
            found.but = f"seen while judging {judged}"
            tally.note(found)


@contextmanager
def restored() -> Iterator[None]:
    """Puts back what is changed inside, and tells nobody."""
    before = state()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), staying():
            yield
    finally:
        changes(before)


def note(what: str, first: str = "") -> None:
    """Counts what is told at the end and no property forbids."""
    times, earliest = NOTES.get(what, (0, printable(first)))
    NOTES[what] = times + 1, earliest


def merge(other: dict[str, tuple[int, str]]) -> None:
    """Adds another process's notes to this one's."""
    for what, (times, first) in other.items():
        mine, earliest = NOTES.get(what, (0, first))
        NOTES[what] = mine + times, earliest


def lines() -> list[str]:
    """One line for each thing that is told."""
    return [
        f"note       {what} in {times:,} call{'s' * (times > 1)}{f', first {first!r}' * bool(first)}"
        for what, (times, first) in sorted(NOTES.items())
    ]


@contextmanager
def listening(called: str) -> Iterator[None]:
    """Notes what is printed; pytest would show it once for each of a failing test's cases."""
    streams = sys.stdout, sys.stderr
    sys.stdout = out = Heard(sys.stdout, sys.stdout is not sys.__stdout__, 1)
    sys.stderr = err = Heard(sys.stderr, sys.stderr is not sys.__stderr__, 2)
    try:
        yield
    finally:
        now = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = streams
        for name, heard, left in (("stdout", out, now[0]), ("stderr", err, now[1])):
            heard.settle()
            if first := heard.beginning.strip():
                verb = "printed" if name == "stdout" else "wrote to stderr"
                note(f"{called} {verb}", first.splitlines()[0][:60])
            if heard.is_closed:
                note(f"{called} closed sys.{name}")
            if left is not heard:
                note(f"{called} replaced sys.{name}")
