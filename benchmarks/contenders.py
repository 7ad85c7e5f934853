"""What is compared: kernel files, PyTorch's and other libraries' convolutions, and what the device allows."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from properties import candidate

Operators = dict[str, Callable[..., Any]]


def load(target: str) -> Operators:
    """The operators of a kernel file or module, as the judge loads them. Raises BadCandidate with one line."""
    return candidate.load(target, Path.cwd()).operators


@triton.jit
def _nothing():
    pass


@triton.jit
def _one_read_two_writes(source_ptr, first_ptr, second_ptr, count, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source_ptr + place, mask=place < count)
    tl.store(first_ptr + place, value, mask=place < count)
    tl.store(second_ptr + place, value, mask=place < count)


def nothing() -> None:
    """Launches a kernel that does nothing."""
    _nothing[(1,)]()


ROOF_BLOCKS = ((256, 1), (512, 2), (1024, 2), (1024, 4), (2048, 4), (4096, 8))  # elements and warps of a program


def one_read_two_writes(x: torch.Tensor, first: torch.Tensor, second: torch.Tensor, block: int, warps: int) -> None:
    """Copies `x` to two places: the least that the operator can move."""
    grid = (triton.cdiv(x.numel(), block),)
    _one_read_two_writes[grid](x, first, second, x.numel(), BLOCK=block, num_warps=warps)


def conv1d(arguments: dict[str, Any]) -> Callable[[], Any]:
    """PyTorch's own convolution on rows already laid out `[1, C, T]`: no cache, no residual, one request."""
    x = arguments["x"].T.contiguous()[None]
    weight = arguments["weight"][:, None].contiguous()
    channels, taps = arguments["weight"].shape
    return lambda: F.conv1d(x, weight, padding=taps - 1, groups=channels)


def causal_conv1d(arguments: dict[str, Any]) -> Callable[[], Any] | None:
    """The package of that name on the same rows, several requests told by `seq_idx`; None where it is absent."""
    if importlib.util.find_spec("causal_conv1d") is None:
        return None
    from causal_conv1d import causal_conv1d_fn

    x = arguments["x"].T[None]  # [1, C, T], channels last, which seq_idx needs
    owners = arguments["seq_idx"][None].contiguous()
    return lambda: causal_conv1d_fn(x, arguments["weight"].contiguous(), seq_idx=owners)


def causal_conv1d_update(arguments: dict[str, Any]) -> Callable[[], Any] | None:
    """Its step of one row a request, on states of its own in one dense tensor; None where it is absent."""
    if importlib.util.find_spec("causal_conv1d") is None:
        return None
    from causal_conv1d import causal_conv1d_update as update

    rows, channels = arguments["x"].shape
    states = torch.zeros(rows, channels, arguments["weight"].shape[1] - 1, dtype=arguments["x"].dtype, device="cuda")
    return lambda: update(arguments["x"], states, arguments["weight"].contiguous())
