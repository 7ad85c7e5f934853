"""Running a forward and finding the first element that differs: what the invariants share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import torch

from properties import causes, explain
from properties.bounds import half_ulp
from properties.calls import Call
from properties.causes import Run
from properties.contents import bits
from properties.memory import Guarded
from properties.printable import class_name
from properties.tensors import Batch
from properties.verdict import MOST_ELEMENTS, Spread, Violation
from reference.dense import dense_conv


def forward(ops: Any, batch: Batch, property_name: str) -> torch.Tensor:
    """Calls `fused_sconv` on a batch and returns its output on the host, once shape, dtype and storage are right."""
    return checked(ops, ops.fused_sconv(**batch.arguments), batch.x, batch.guarded, property_name, batch.case)


def ran(ops: Any, batch: Batch, property_name: str, words: str) -> Run:
    """A forward of a batch, to compare another with; `words` name it."""
    return Run(words, Call.of(batch), forward(ops, batch, property_name))


def checked(
    ops: Any, out: object, x: torch.Tensor, arguments: Mapping[str, Guarded], property_name: str, case: object
) -> torch.Tensor:
    """A result of `fused_sconv` on the host, once it has the shape and dtype of `x` and memory of its own."""
    if not isinstance(out, torch.Tensor):
        _refuse(property_name, case, f"returned {class_name(type(out))}, but should return a tensor")
    if out.shape != x.shape:
        _refuse(property_name, case, f"returned shape {tuple(out.shape)}, but should return {tuple(x.shape)}")
    if out.dtype != x.dtype:
        _refuse(property_name, case, f"returned dtype {out.dtype}, but should return that of x, {x.dtype}")
    for name, guarded in arguments.items():
        if out.numel() and ops.engine.address(out) == ops.engine.address(guarded.memory):
            _refuse(property_name, case, f"returned memory of its argument {name}, but should return its own")
    if out.numel() and ops.earlier is not None and ops.engine.address(out) == ops.engine.address(ops.earlier):
        _refuse(property_name, case, "returned the memory of an earlier result, but should return its own")
    ops.earlier = out  # kept alive, so that its memory cannot be handed out again before the next result
    return out.detach().cpu().clone()


def refuses_view(ops: Any, batch: Batch) -> bool:
    """Whether the candidate says, before anything ran, that it takes no such tensors, where the contract lets it."""
    refusal = ops.refusal("fused_sconv", **batch.arguments) if batch.case.T else None
    return isinstance(refusal, (AssertionError, ValueError, TypeError))


def _refuse(property_name: str, case: object, words: str) -> NoReturn:
    __tracebackhide__ = True
    raise Violation(property_name, "fused_sconv", got=words, case=case)


def exact(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """The float64 truth `[T, C]`, residual included, and the sum over taps of |w x| of each element."""
    case = batch.case
    weight = batch.weight.cpu()
    x = batch.x.cpu().double()
    truth = x.clone() if case.use_residual else torch.zeros_like(x)
    magnitude = torch.zeros_like(x)
    for inputs, request, first in zip(batch.inputs, case.requests, case.first_rows, strict=True):
        if not request.length:
            continue
        span = slice(first, first + request.length)
        whole = dense_conv(inputs, weight, case.activation, case.use_residual)
        truth[span] = whole[-request.length :]
        magnitude[span] = dense_conv(inputs.abs(), weight.abs(), None, False)[-request.length :]
    dropped = batch.slots < 0
    truth[dropped] = x[dropped] if case.use_residual else 0.0
    magnitude[dropped] = 0.0
    return truth, magnitude


def place(wrong: torch.Tensor) -> dict[str, int]:
    """The first wrong element by name: of what has a number for each row, an output, or a cache."""
    axes = {1: ("row",), 2: ("row", "channel"), 4: ("block", "head", "offset", "d")}[wrong.ndim]
    return dict(zip(axes, (int(i) for i in wrong.nonzero()[0]), strict=True))


def compare_bits(
    ops: Any,
    property_name: str,
    batch: Batch,
    got: torch.Tensor,
    wanted: torch.Tensor,
    *,
    signed_zero: bool = True,
    other: Run | None = None,
    rows: Sequence[int] = (),
) -> None:
    """Raises the violation of the first output element whose bits differ.

    signed_zero: whether +0 and -0 differ; the contract's sum does not fix the sign of an exact zero. other: the run
    that gave `wanted`, where one did; rows: which rows of `got` its rows are, where not all.
    """
    __tracebackhide__ = True
    if torch.equal(bits(got), bits(wanted)):
        return
    wrong = bits(got) != bits(wanted)
    if not signed_zero:
        wrong &= ~((got == 0) & (wanted == 0))
    if wrong.any():
        row, channel = (int(index) for index in wrong.nonzero()[0])
        should = number(wanted[row, channel]) + (f", as in {other.words}" if other is not None else "")
        raise difference(ops, property_name, batch, got, wanted, wrong, should, other, rows)


def difference(
    ops: Any,
    property_name: str,
    batch: Batch,
    got: torch.Tensor,
    wanted: torch.Tensor,
    wrong: torch.Tensor,
    should: str = "",
    other: Run | None = None,
    rows: Sequence[int] = (),
) -> Violation:
    """The violation of the first element of `wrong`, its row explained; `should` is what it should be, if no number."""
    row, channel = (int(index) for index in wrong.nonzero()[0])
    taps = explain.meant(batch, row, channel)
    found = Violation(
        property_name,
        "out",
        where=explain.locate(batch.case, row, channel),
        got=number(got[row, channel]),
        wanted=should or number(wanted[row, channel]),
        let=explain.let(batch, row),
        then=explain.then(batch, row, taps),
        but=explain.cluster(batch, wrong),
        case=batch.case,
        taps=taps,
        spread=spread(got, wanted, wrong, explain.cluster(batch, wrong)),
    )
    return found.because(causes.output(ops.rerun, Run("this run", Call.of(batch), got), wrong, other, rows))


def spread(got: torch.Tensor, wanted: torch.Tensor, wrong: torch.Tensor, words: str) -> Spread:
    """Which elements of `[T, C]` differ, and by how many units in the last place of the output's dtype."""
    first = wrong.nonzero()[:MOST_ELEMENTS]
    at = first[:, 0], first[:, 1]
    meant = wanted[at].double()
    ulps = (got[at].double() - meant) / (2 * half_ulp(meant.nan_to_num().abs().clamp(max=1e38), got.dtype))
    elements = tuple((int(row), int(channel), float(ulp)) for (row, channel), ulp in zip(first, ulps, strict=True))
    rows, channels = wrong.shape
    return Spread(int(wrong.sum()), wrong.numel(), words, rows, channels, elements)


def near(truth: torch.Tensor, allowed: torch.Tensor, dtype: torch.dtype) -> str:
    """A float64 element and its bound, with the digits that the bound leaves; in its dtype, where that is 0."""
    exact, within = float(truth), float(allowed)
    if not within:
        return number(truth.to(dtype))
    left = abs(exact) / within
    digits = min(12, max(4, math.ceil(math.log10(left)) + 2)) if 0 < left < math.inf else 4
    return f"{exact:.{digits}g} within {within:.2g}"


def number(value: torch.Tensor) -> str:
    """A tensor's element as the shortest decimal that tells it apart in its dtype."""
    if not value.is_floating_point():
        return str(int(value))
    if value.isnan():
        return "NaN"
    digits = {torch.bfloat16: 4, torch.float16: 5, torch.float32: 9, torch.float64: 12}[value.dtype]
    return f"{float(value):.{digits}g}"
