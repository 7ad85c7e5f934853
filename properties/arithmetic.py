"""Arithmetic: which other computation on the right taps gives exactly what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from properties.bounds import allowed_error
from properties.calls import Call
from properties.contents import bits

Sum = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # products of values [W, T, C] and weights [W, 1, C], summed

RIGHT = ("the taps summed one after another", "the taps summed by fused multiply-adds")


def tap_values(call: Call) -> torch.Tensor:
    """The value of every tap of every output element, `[W, T, C]` float32, 0 where there is none."""
    x = call.before("x")
    T, C = x.shape
    values = torch.zeros(call.W, T, C)
    cache = call.before("cache")
    for row in range(T):
        for channel_of_head in range(0, C, int(call.arguments["ws"])):
            for tap in call.meant(row, channel_of_head):
                span = slice(channel_of_head, channel_of_head + int(call.arguments["ws"]))
                source = tap.meant
                if source.kind == "x":
                    values[tap.index, row, span] = x[source.row, span].float()
                elif source.kind == "cache":
                    d = int(call.arguments["off_s"])
                    held = cache[source.block, source.head, source.offset, d : d + int(call.arguments["ws"])]
                    values[tap.index, row, span] = held.float()
    return values


def contract_value(call: Call, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The float64 result `[T, C]` of these taps, and how far a correct kernel may be from it."""
    given = call.arguments
    weight, x = call.before("weight").double().T[:, None], call.before("x").double()
    total = (values.double() * weight).sum(0)
    truth = total * torch.sigmoid(total) if given["activation"] else total
    truth = truth + x if given["use_residual"] else truth
    magnitude = (values.double() * weight).abs().sum(0)
    dtype = given["x"].dtype
    allowed = allowed_error(truth, magnitude, x, call.W, dtype, given["activation"], given["use_residual"])
    return truth, allowed


def _oldest_first(values: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(values.shape[1:])
    for tap, column in zip(values, weight, strict=True):
        total = total + tap * column
    return total


def _contracted(values: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(values.shape[1:])
    for tap, column in zip(values, weight, strict=True):
        total = (total.double() + tap.double() * column.double()).float()
    return total


def _newest_first(values: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return _oldest_first(values.flip(0), weight.flip(0))


def _newest_contracted(values: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return _contracted(values.flip(0), weight.flip(0))


def _in(dtype: torch.dtype) -> Sum:
    def total(values: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        some = torch.zeros(values.shape[1:], dtype=dtype)
        for tap, column in zip(values.to(dtype), weight.to(dtype), strict=True):
            some = some + tap * column
        return some.float()

    return total


def _products_in(dtype: torch.dtype) -> Sum:
    def total(values: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        some = torch.zeros(values.shape[1:])
        for tap, column in zip(values.to(dtype), weight.to(dtype), strict=True):
            some = some + (tap * column).float()
        return some

    return total


def _cut(result: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    nearest = result.to(dtype)
    if dtype == torch.float32:
        return nearest
    return (bits(nearest) - (nearest.float().abs() > result.abs()).to(torch.int16)).view(dtype)


def computations(call: Call, values: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Computations in words, and what each gives, `[T, C]` in the dtype of x; first the right ones."""
    given, x = call.arguments, call.before("x")
    dtype, residual = x.dtype, x.float()
    weight = call.before("weight").float().T[:, None]
    is_active, has_residual = given["activation"] is not None, bool(given["use_residual"])
    total = _oldest_first(values, weight)

    def finish(some: torch.Tensor, active: bool = is_active, added: float = float(has_residual)) -> torch.Tensor:
        some = _silu(some) if active else some
        return some + added * residual if added else some  # 0 times an infinity is none of the value

    sums = (total, _contracted(values, weight))
    for words, some in zip(RIGHT, sums, strict=True):
        yield words, finish(some).to(dtype)
    largest = torch.finfo(dtype).max
    for some in sums:
        exact = finish(some)
        nearest = exact.to(dtype)
        for words, other in (
            ("the right value cut towards zero instead of rounded to the nearest", _cut(exact, dtype)),
            ("the right value with subnormal numbers as 0", _flushed(nearest)),
            ("the right value clamped to the largest finite number", nearest.clamp(-largest, largest)),
        ):
            if not torch.equal(other, nearest):
                yield words, other
    for turned in (_newest_first, _newest_contracted):
        yield "the taps summed from the newest to the oldest", finish(turned(values, weight)).to(dtype)
    if has_residual:
        yield "the value without the residual", finish(total, added=0).to(dtype)
        yield "the value with the residual twice", finish(total, added=2).to(dtype)
        yield "the residual alone without any tap", residual.to(dtype)
        between = finish(total, added=0).to(dtype).float() + residual
        yield "the sum rounded before the residual is added and again after it", between.to(dtype)
    else:
        yield "the value with the residual, which this call does not ask for", finish(total, added=1).to(dtype)
    if is_active:
        yield "the value without the activation", finish(total, active=False).to(dtype)
        yield "the activation of the sum with the residual in it", _silu(total + residual).to(dtype)
    name = str(dtype).removeprefix("torch.")
    if dtype != torch.float32:
        yield f"the sum computed in {name} throughout", finish(_in(dtype)(values, weight)).to(dtype)
        yield f"the sum of products rounded to {name}", finish(_products_in(dtype)(values, weight)).to(dtype)
    yield "0 everywhere", torch.zeros_like(x)
    yield "the input", x


def _silu(some: torch.Tensor) -> torch.Tensor:
    return some * torch.sigmoid(some.double()).float()


def _flushed(values: torch.Tensor) -> torch.Tensor:
    return torch.where(values.abs() < torch.finfo(values.dtype).tiny, torch.zeros_like(values), values)


def named(call: Call, values: torch.Tensor, got: torch.Tensor, wrong: torch.Tensor) -> list[str]:
    """Every computation that gives what came out in all elements of a mask `[T, C]`, in words."""
    found = []
    for words, result in computations(call, values):
        same = (bits(result) == bits(got)) | ((result == 0) & (got == 0)) | (result.isnan() & got.isnan())
        if bool(same[wrong].all()) and words not in found:
            found.append(words)
    return found


def computation(call: Call, values: torch.Tensor, got: torch.Tensor, wrong: torch.Tensor) -> str:
    """The computations, at most two, that give what came out in every wrong element; empty where none or the right one.

    got: `[T, C]`, wrong: its mask.
    """
    found = named(call, values, got, wrong)
    return "" if set(found) & set(RIGHT) else ", or ".join(found[:2])
