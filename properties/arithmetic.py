"""Arithmetic: which other computation on the right taps gives what came out, exactly or within its bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch

from properties.bounds import allowed_error
from properties.calls import Call
from properties.contents import bits

Sum = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # products of values [W, T, C] and weights [W, 1, C], summed

THE_RIGHT = "the right value"
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


@dataclass(frozen=True)
class Formula:
    """What may have been computed of taps `[W, T, C]` and weights `[W, 1, C]`, float32; `added` times x follows."""

    words: str
    taps: torch.Tensor
    weight: torch.Tensor
    activation: Callable[[torch.Tensor], torch.Tensor] | None
    added: float

    def of_sum(self, total: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """The value of a sum of the taps, in the dtype of that."""
        some = total if self.activation is None else self.activation(total)
        return some + self.added * x.to(total.dtype) if self.added else some  # 0 times an infinity is none of the value

    def bounded(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The float64 value `[T, C]`, and how far a kernel that computes this may be from it."""
        products, residual = self.taps.double() * self.weight.double(), self.added * x.double()
        truth, magnitude = self.of_sum(products.sum(0), x), products.abs().sum(0)
        activation = None if self.activation is None else "silu"  # no other one that is tried errs more
        return truth, allowed_error(truth, magnitude, residual, len(self.taps), x.dtype, activation, bool(self.added))


def contract_value(call: Call, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The float64 result `[T, C]` of these taps, and how far a correct kernel may be from it."""
    return _right(call, values).bounded(call.before("x"))


def _right(call: Call, values: torch.Tensor) -> Formula:
    """What the contract asks for."""
    weight = call.before("weight").float().T[:, None]
    activation = _silu if call.arguments["activation"] else None
    return Formula(THE_RIGHT, values, weight, activation, float(bool(call.arguments["use_residual"])))


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


def formulas(call: Call, values: torch.Tensor) -> Iterator[Formula]:
    """What else a kernel may compute of the right taps by a wrong line."""
    right = _right(call, values)
    has_residual, none = right.added != 0, torch.zeros_like(values)
    if has_residual:
        yield replace(right, words="the value without the residual", added=0)
        yield replace(right, words="the value with the residual twice", added=2)
        yield replace(right, words="the residual alone without any tap", taps=none, activation=None)
    else:
        yield replace(right, words="the value with the residual, which this call does not ask for", added=1)
    if right.activation is not None:
        yield replace(right, words="the value without the activation", activation=None)
        yield replace(
            right,
            words="the activation of the sum with the residual in it",
            taps=torch.cat((values, call.before("x").float()[None])),
            weight=torch.cat((right.weight, torch.ones_like(right.weight[:1]))),
            added=0,
        )
        yield replace(right, words="the sigmoid of the sum in place of its SiLU", activation=torch.sigmoid)
    else:
        yield replace(right, words="the activation of the sum, which this call does not ask for", activation=_silu)
    yield replace(right, words="0 everywhere", taps=none, activation=None, added=0)
    if not has_residual:
        yield replace(right, words="the input", taps=none, activation=None, added=1)
    if bool(values.isnan().any()):
        yield replace(
            right,
            words="the value with 0 in place of taps that are NaN",
            taps=values.nan_to_num(0, torch.inf, -torch.inf),
        )
    yield replace(right, words="the value with 0 in place of negative taps", taps=values.clamp(min=0))
    yield replace(right, words="the value with the magnitudes of the taps", taps=values.abs())
    yield replace(right, words="the value with 0 in place of negative weights", weight=right.weight.clamp(min=0))
    yield replace(right, words="the value with 0 in place of a negative sum", activation=torch.relu)


def computations(call: Call, values: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Computations in words, and what each gives, `[T, C]` in the dtype of x; first the right ones."""
    right, x = _right(call, values), call.before("x")
    dtype, weight = x.dtype, right.weight
    sums = (_oldest_first(values, weight), _contracted(values, weight))
    for words, some in zip(RIGHT, sums, strict=True):
        yield words, right.of_sum(some, x).to(dtype)
    largest = torch.finfo(dtype).max
    for some in sums:
        exact = right.of_sum(some, x)
        nearest = exact.to(dtype)
        for words, other in (
            ("the right value cut towards zero instead of rounded to the nearest", _cut(exact, dtype)),
            ("the right value with subnormal numbers as 0", _flushed(nearest)),
            ("the right value clamped to the largest finite number", nearest.clamp(-largest, largest)),
        ):
            if not torch.equal(other, nearest):
                yield words, other
    for turned in (_newest_first, _newest_contracted):
        yield "the taps summed from the newest to the oldest", right.of_sum(turned(values, weight), x).to(dtype)
    for one in formulas(call, values):
        yield one.words, one.of_sum(_oldest_first(one.taps, one.weight), x).to(dtype)
    if right.added:
        between = replace(right, added=0).of_sum(sums[0], x).to(dtype).float() + x.float()
        yield "the sum rounded before the residual is added and again after it", between.to(dtype)
    name = str(dtype).removeprefix("torch.")
    if dtype != torch.float32:
        yield f"the sum computed in {name} throughout", right.of_sum(_in(dtype)(values, weight), x).to(dtype)
        yield f"the sum of products rounded to {name}", right.of_sum(_products_in(dtype)(values, weight), x).to(dtype)


def _silu(some: torch.Tensor) -> torch.Tensor:
    return some * torch.sigmoid(some.double()).to(some.dtype)


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


def nearby(call: Call, values: torch.Tensor, got: torch.Tensor, wrong: torch.Tensor) -> list[str]:
    """Every formula within whose bound all elements of a mask `[T, C]` are, in words, the right one with the others."""
    x, found = call.before("x"), []
    for one in (_right(call, values), *formulas(call, values)):
        truth, allowed = one.bounded(x)
        near = ((got.double() - truth).abs() <= allowed) | (got.double() == truth) | (got.isnan() & truth.isnan())
        if bool(near[wrong].all()):
            found.append(one.words)
    return found


def fitting(call: Call, values: torch.Tensor, got: torch.Tensor, wrong: torch.Tensor) -> tuple[list[str], str]:
    """The computations that give what came out in every wrong element, and a remark; none if the right one does.

    Where none gives just that, the only one that may have rounded otherwise. got: `[T, C]`, wrong: its mask.
    """
    if found := named(call, values, got, wrong):
        return [] if set(found) & set(RIGHT) else found, ""
    near = nearby(call, values, got, wrong)
    return near if len(near) == 1 and near[0] != THE_RIGHT else [], ", within the bound of its rounding"


def listed(found: list[str], remark: str) -> str:
    """At most two computations, and how many more there are; empty where there are none."""
    others = [f"{len(found) - 2} more that fit"] if len(found) > 2 else []
    return ", or ".join([*found[:2], *others]) + remark if found else ""
