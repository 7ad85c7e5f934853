"""The operators' names, arguments and dtypes, as the contract fixes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import torch

from properties.printable import class_name

DTYPES: dict[str, torch.dtype] = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
ACTIVATIONS: tuple[str | None, ...] = (None, "silu", "swish")

# Argument order and defaults are those of the upstream file; a candidate may add optional arguments.
FUSED_SCONV = (
    "x",
    "weight",
    "cache",
    "positions",
    "block_table",
    "seq_idx",
    "slot_mapping",
    "query_start",
    "off_s",
    "ws",
    "block_size",
    "activation",
    "use_residual",
)
SEQ_METADATA = (
    "query_start_loc",
    "num_reqs",
    "num_actual_tokens",
    "seq_idx_out",
    "query_start_out",
    "num_padded_tokens",
)
# What a launch must not write; both outputs of the metadata are written, and of the convolution's arguments the cache.
WRITTEN = {"cache", "seq_idx_out", "query_start_out"}
DEFAULTS = {"activation": None, "use_residual": True, "num_padded_tokens": None}
OPERATORS: dict[str, tuple[str, ...]] = {"fused_sconv": FUSED_SCONV, "sconv_seq_metadata": SEQ_METADATA}


def result_fault(result: torch.Tensor, x: torch.Tensor) -> str:
    """What keeps a result from being read as numbers in memory of its own, or ""; its shape and dtype come later."""
    for what in ("layout", "device"):
        if (found := getattr(result, what)) != getattr(x, what):
            return f"returned {what} {found}, but should return that of x, {getattr(x, what)}"
    if result.is_nested or type(result).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        kind = "a nested tensor" if result.is_nested else class_name(type(result))
        return f"returned {kind}, but should return a tensor in memory of its own"
    return ""


def signature_fault(name: str, function: Callable[..., object]) -> str | None:
    """Says in one line how `function` departs from the contract's signature of `name`, or None.

    The contract's arguments must be accepted under their names and in their order; further
    parameters need defaults.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None  # a builtin or compiled callable shows no signature; calling it will tell
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return None
    wanted = OPERATORS[name]
    found = tuple(p.name for p in parameters)
    if found[: len(wanted)] != wanted:
        return f"{name}({', '.join(found)}) must take ({', '.join(wanted)})"
    surplus = [p.name for p in parameters[len(wanted) :] if p.default is p.empty]
    if surplus:
        return f"{name} needs {', '.join(surplus)}, which the contract does not pass"
    for parameter in parameters[: len(wanted)]:
        if parameter.name in DEFAULTS and parameter.default != DEFAULTS[parameter.name]:
            shown = "none" if parameter.default is parameter.empty else repr(parameter.default)
            return f"{name}: the default of {parameter.name} is {shown}, but must be {DEFAULTS[parameter.name]!r}"
    return None
