"""Every touch of Triton's internals: a launch's arguments in, TTIR text out.

Tried with Triton 3.6.0, 3.7.0, 3.8.0 and 3.9.0.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget, Language
from triton.compiler.compiler import ASTSource, make_backend
from triton.runtime.autotuner import Autotuner, Config
from triton.runtime.jit import JITFunction, create_function_from_signature

# from 9.0 on, TTIR is the same for every NVIDIA target; older ones rewrite tensor descriptors
TARGET = GPUTarget("cuda", 90, 32)
# The machine checks device_assert always, as TRITON_DEBUG=1 would; overflow is judged by its own means
FORCED_OPTIONS = {"debug": True, "sanitize_overflow": False}
# TTIR is the same either way; without a choice Triton 3.9 announces in a warning what 3.10 will choose.
USUAL_OPTIONS = {"enable_fp_fusion": True}

# how the type of a descriptor made on the host begins; TTIR lists its sizes and strides behind it
DESCRIPTOR = "tensordesc"

Seen = Callable[[str, list[str], list[str], str], None]
_backend: Any = None
_binders: dict[int, tuple[Any, Callable]] = {}


@dataclass(frozen=True)
class Bound:
    """A launch after Triton's own binder: arguments by name, key of the specialisation, how to compile it."""

    arguments: dict[str, Any]
    leaves: tuple[tuple[str, Any], ...]
    key: tuple
    compile: Callable[[], str]


def backend() -> Any:
    """Returns the compiler backend, made once per process."""
    global _backend
    if _backend is None:
        _backend = make_backend(TARGET)
    return _backend


def bind(function: JITFunction, args: tuple, kwargs: dict[str, Any]) -> Bound:
    """Binds a launch's arguments as `JITFunction.run` does, defaults and options included."""
    kwargs = {**USUAL_OPTIONS, **kwargs, **FORCED_OPTIONS}
    for hook in function.pre_run_hooks:
        hook(*args, **kwargs)
    entry = _binders.get(id(function))
    if entry is None:
        entry = (function, create_function_from_signature(function.signature, function.params, backend()))
        _binders[id(function)] = entry
    arguments, specialization, options = entry[1](*args, **kwargs)
    leaves: list[tuple[str, Any]] = []
    kinds: list[Any] = []
    for (name, value), (kind, extra) in zip(arguments.items(), specialization, strict=True):
        if kind.__class__ is str and kind != "constexpr" and not kind.startswith(DESCRIPTOR):
            # nearly every argument: no tuple, no constant
            leaves.append((name, value))
            kinds.append(kind)
        else:
            _flatten(name, value, kind, leaves)
            kinds.append(_key(kind, extra))
    chosen = tuple(sorted((name, str(value)) for name, value in options.items()))
    key = (function.fn.__code__.co_filename, function.cache_key, tuple(kinds), chosen)
    _check_globals(function)
    return Bound(arguments, tuple(leaves), key, lambda: _ttir(function, arguments, specialization, options, kwargs))


def _key(kind: Any, extra: Any) -> Any:
    """Drops what changes no TTIR: divisibility lives in argument attributes that no operation reads."""
    if kind == "constexpr":
        return ("constexpr", _constant(extra))
    if isinstance(kind, tuple):
        return tuple(_key(inner, more) for inner, more in zip(kind, extra or [None] * len(kind), strict=True))
    return kind


def _constant(value: Any) -> Any:
    """Tells constants apart as Triton does: functions by their source, also where they lie in tuples."""
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, *(_constant(inner) for inner in value))
    return type(value).__name__, str(getattr(value, "cache_key", value))


def _flatten(name: str, value: Any, kind: Any, leaves: list[tuple[str, Any]]) -> None:
    if kind == "constexpr":
        return
    if isinstance(kind, tuple):
        for number, (inner, inner_kind) in enumerate(zip(value, kind, strict=True)):
            _flatten(f"{name}[{number}]", inner, inner_kind, leaves)
        return
    leaves.append((name, value))
    if kind.startswith(DESCRIPTOR):
        leaves += [(f"{name}.shape.{axis}", size) for axis, size in enumerate(value.shape)]
        leaves += [(f"{name}.stride.{axis}", stride) for axis, stride in enumerate(value.strides)]


def _check_globals(function: JITFunction) -> None:
    for (name, _), (value, names) in function.used_global_vals.items():
        if names.get(name) != value:
            raise RuntimeError(
                f"Global variable {name} has changed since kernel {function.__name__} was specialised, "
                f"from {value} to {names.get(name)}"
            )


def _ttir(function: JITFunction, arguments: Any, specialization: Any, options: Any, kwargs: Any) -> str:
    compiler = backend()
    parsed, signature, constants, attributes = function._pack_args(compiler, kwargs, arguments, specialization, options)
    source = ASTSource(function, signature, constants, attributes)
    context = ir.context()
    ir.load_dialects(context)
    compiler.load_dialects(context)
    module = source.make_ir(
        TARGET, parsed, compiler.get_codegen_implementation(parsed), compiler.get_module_map(), context
    )
    stages: dict[str, Callable] = {}
    compiler.add_stages(stages, parsed, Language.TRITON)
    return str(stages["ttir"](module, {}))


def refuse_interpreter() -> None:
    """Raises if Triton's interpreter has taken the place of the functions that the machine intercepts."""
    if triton.knobs.runtime.interpret:
        raise RuntimeError("TRITON_INTERPRET = 1: Triton's interpreter runs the launches; unset it to use the machine")


def version() -> str:
    """Returns Triton's version, a part of every cache key."""
    return triton.__version__


class Interception:
    """Replaces `JITFunction.run` by a callback until `restore`."""

    def __init__(self, launch: Callable[..., None]) -> None:
        self.saved_run = JITFunction.run

        def run(function: JITFunction, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
            if not warmup:
                launch(function, args, grid, kwargs)

        JITFunction.run = run

    def restore(self) -> None:
        JITFunction.run = self.saved_run


@contextmanager
def choosing(choice: int, seen: Seen | None = None) -> Iterator[None]:
    """Runs autotuned kernels in configuration number `choice` of those that their prune hooks leave, untimed.

    Counts past the last from the first again. A launch is what every launch after tuning is: the chosen configuration's
    own pre_hook runs, what surrounds timing (reset_to_zero, restore_value) does not. `seen` is told the kernel's name,
    all configurations, those left, and the one that runs, in words.
    """
    saved = Autotuner.run

    def run(tuner: Autotuner, *args: Any, **kwargs: Any) -> Any:
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        try:
            left = tuner.prune_configs(kwargs) if len(tuner.configs) > 1 else tuner.configs
            if not left:
                raise ValueError(f"the prune hooks of {tuner.base_fn.__name__} leave no configuration")
            config = left[choice % len(left)]
            if seen is not None:
                every, some = ([configuration(one) for one in group] for group in (tuner.configs, left))
                seen(tuner.base_fn.__name__, every, some, configuration(config))
            if config.pre_hook is not None:
                config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
            return tuner.fn.run(*args, **kwargs, **config.all_kwargs())
        finally:
            tuner.nargs = None

    Autotuner.run = run
    try:
        yield
    finally:
        Autotuner.run = saved


def configuration(config: Any) -> str:
    """Returns a configuration in words: what differs from Triton's defaults, meta-parameters first."""
    usual = Config({}).all_kwargs()
    words = [f"{name}={value}" for name, value in config.all_kwargs().items() if usual.get(name) != value]
    if config.pre_hook is not None:
        words.append(f"pre_hook={getattr(config.pre_hook, '__name__', config.pre_hook)}")
    return ", ".join(words) or "defaults"


def configurations(packages: set[str]) -> list[list[dict[str, Any]]]:
    """Returns the meta-parameters of every configuration of every autotuned kernel defined in these packages."""
    tuners = [one for one in gc.get_objects() if issubclass(type(one), Autotuner)]
    own = [tuner for tuner in tuners if tuner.base_fn.__module__.partition(".")[0] in packages]
    return [[config.all_kwargs() for config in tuner.configs] for tuner in own]


@contextmanager
def noting_constants() -> Iterator[set[int]]:
    """Notes the whole-number constexpr arguments of every launch; inside a machine, enter it after the machine."""
    saved, noted = JITFunction.run, set[int]()

    def run(function: JITFunction, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(function.arg_names, args, strict=False)), **kwargs}
        values = [given.get(one.name, one.default) for one in function.params if one.is_constexpr]
        noted.update(value for value in values if type(value) is int)
        return saved(function, *args, **kwargs)

    JITFunction.run = run
    try:
        yield noted
    finally:
        JITFunction.run = saved


_counted: set[str] = set()


def count_compilations() -> None:
    """Makes Triton's own launches count what they compile, or take from Triton's disk cache, in this process."""

    def seen(*, key: Any, repr: str, **rest: Any) -> None:  # Triton calls it by keyword
        _counted.add(f"{repr} {key}")

    triton.knobs.runtime.jit_post_compile_hook = seen
    _take_announcement()


def _take_announcement() -> None:
    """Asks Triton for its default of FP fusion, which 3.9 announces once in a process to change in 3.10.

    The candidate's kernels get that default all the same, and no test shows a warning that is not about them.
    """
    if asked := getattr(triton.knobs.language, "fp_fusion_enabled", None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked(None)


def compiled_kernels() -> int:
    """Returns how many kernels were compiled since count_compilations was called."""
    return len(_counted)
