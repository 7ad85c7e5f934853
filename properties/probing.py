"""Probing: the failed call made again with codes for inputs and one-hot weights, to see where each tap came from."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from properties.calls import Call, Entry, Rerun
from properties.cells import Cells, single
from properties.number_words import times
from properties.ttir import Accesses
from properties.verdict import Source, Tap

BASE = 128  # digits of codes, from 1 on: whole numbers that bf16 holds exactly, and so do sums of two
MOST_SOURCES = 6  # of one tap: more are no faulty address, but another computation
SECONDS = 2.0  # that all passes may take
Value = Callable[[torch.Tensor], float]  # of an element, by what the inputs, or the weights, are


@dataclass
class Found:
    """What a probe saw of one output element: sources and weights of its taps, as data."""

    taps: tuple[Tap, ...]
    cells: list[list[int]] = field(default_factory=list)  # the cells of x and cache that each weight column multiplies
    is_complete: bool = True  # whether every tap could be decoded
    added: tuple[int, ...] = ()  # the cells that are added whatever the weights: the residual
    bare: tuple[int, ...] = ()  # the taps that are added whatever the weights, too
    strange: str = ""  # what came out, in words, where that was no sum of inputs
    by: Entry | None = None  # of another row or column, that the first wrong tap was found by


class TooLong(Exception):
    """The passes would take longer than an explanation may."""


class Probe:
    """One output element of a call, probed in place; use as `with Probe(...).set_up() as probe`."""

    def __init__(self, rerun: Rerun, call: Call, row: int, channel: int) -> None:
        self.rerun, self.call = rerun, call
        self.row, self.channel = row, channel
        self.at = row, channel
        self.meant = call.meant(row, channel)

    @contextmanager
    def set_up(self) -> Iterator[Probe]:
        """Rewinds the call's memory, and puts everything back in the end."""
        given = self.call.arguments
        self.call.rewind()
        self.inputs = Cells({"x": given["x"], "cache": given["cache"]})
        self.weights = Cells({"weight": given["weight"]})
        try:
            yield self
        finally:
            self.inputs.restore()
            self.weights.restore()

    def again(self) -> tuple[torch.Tensor, Accesses | None]:
        """The very call once more: its output on the host, and who touched what. Leaves memory as it was before."""
        begin = time.monotonic()
        out, accesses = self.rerun(self.call.arguments)
        self.seconds = time.monotonic() - begin
        self.out, self.accesses = out, accesses  # where it lies is what accesses are found by
        result = out.detach().cpu().clone()
        self.after = {name: memory.clone() for name, memory in self.inputs.memory.items()}
        self.inputs.restore()
        return result, accesses

    def find(self) -> Found:
        """Where each tap comes from, which weight multiplies it, and what is added to all. Raises TooLong."""
        passes = 3 + 4 * len(self.meant) + self._digits(self.inputs) + self._digits(self.weights)  # of one wrong tap
        if passes * self.seconds > SECONDS:
            raise TooLong(f"{passes} more calls of {self.seconds:.1f} s each")
        nothing = torch.zeros(self.weights.count)
        weights = {f"weight 1 for tap {tap} and 0 for the others": self.one_hot(tap) for tap in range(len(self.meant))}
        always = self._sources(nothing)
        own = self.inputs.number("x", (self.row, self.channel))
        added = self._sources(nothing, own, use_residual=True) if self.call.arguments["use_residual"] else always
        found = {
            given: self._sources(one, self.number(tap.meant))
            for (given, one), tap in zip(weights.items(), self.meant, strict=True)
        }
        cells = [_without(one or [], always or []) for one in found.values()]
        mine = {tap.index: self.number(tap.meant) for tap in self.meant}
        bare = [tap for tap, its in enumerate(cells) if not its and mine[tap] in (always or [])]
        strange = next((self._strange(given, weights[given]) for given, one in found.items() if one is None), "")
        if always is None:
            strange = self._strange("all weights 0 and no residual", nothing)
        if strange:
            return Found(self.meant, cells, False, strange=strange)
        if added is None:
            strange = self._strange("all weights 0 and the residual", nothing, use_residual=True)
        added = _without(added or [], [number for tap, number in mine.items() if tap in bare and number is not None])
        came = [tap.meant if tap.index in bare else self.came(cells[tap.index]) for tap in self.meant]
        taps = [replace(tap, came=its) for tap, its in zip(self.meant, came, strict=True)]
        taps = self._with_weights(taps, cells)
        return Found(tuple(taps), cells, added=tuple(added), bare=tuple(bare), strange=strange)

    def _strange(self, given: str, weights: torch.Tensor, **changed: Any) -> str:
        """What inputs of one number give under weights, described by `given`, under which it is no sum of inputs."""
        ones = torch.ones(self.inputs.count)
        gives = {one: self.value(one * ones, weights, **changed) for one in (0, 1, 2, BASE)}
        one = next((one for one in gives if gives[one] != one * gives[1] or not gives[one].is_integer()), 1)
        more = "" if gives[one] != one else ", but others do not come out as they are"
        return f"with {given}, inputs of {one} give {gives[one]:.6g}{more}"

    def _with_weights(self, taps: list[Tap], cells: list[list[int]]) -> list[Tap]:
        """The taps with the weight that multiplies each; where only weights are exchanged, no source is accused."""
        mine = [self.number(tap.meant) for tap in taps]
        told = [number for number in mine if number is not None]
        read = [cell for its in cells for cell in its]
        is_exchanged = sorted(told) == sorted(read) and len(set(told)) == len(told)
        if is_exchanged:
            taps = [replace(tap, came=tap.meant) for tap in taps]
        numbers = mine if is_exchanged else [one[0] if len(one) == 1 else None for one in cells]
        return [
            tap if number is None else replace(tap, weight=self._weight(number, tap.index))
            for tap, number in zip(taps, numbers, strict=True)
        ]

    def number(self, source: Source) -> int | None:
        if source.kind == "x":
            return self.inputs.number("x", (source.row, source.channel))  # type: ignore[arg-type]  # it has both
        if source.kind == "cache":
            return self.inputs.number("cache", (source.block, source.head, source.offset, source.d))  # type: ignore[arg-type]  # all four
        return None

    def came(self, cells: Sequence[int]) -> Source:
        """The source that some cells are together; one that counts more than once keeps its place."""
        if not cells:
            return Source("nothing")
        found = [self.source(one) for one in cells]
        if len(found) == 1:
            return found[0]
        if len(set(cells)) == 1:
            return replace(found[0], kind="sum", note=f"{found[0]} {times(len(found))}")
        return Source("sum", note=f"the sum of {' and '.join(map(str, found))}")

    def source(self, cell: int) -> Source:
        """A cell as a source of the element."""
        name, index = self.inputs.place(cell)
        if index is None:
            return Source("outside", note=self.inputs.gap(cell))
        return self.call.source(name, index, self.row, self.channel)

    def one_hot(self, column: int) -> torch.Tensor:
        """Weights of which one column is 1 and the others are 0."""
        weights = torch.zeros(self.weights.count)
        weights[self.weights.numbers("weight")[:, column]] = 1
        return weights

    def nan_from(self) -> int | None:
        """The cell, none that the element depends on, whose NaN makes it NaN; None where no single one does."""
        own = [self.number(tap.meant) for tap in self.meant] + [self.inputs.number("x", (self.row, self.channel))]
        strange = torch.ones(self.inputs.count, dtype=torch.bool)
        strange[[number for number in own if number is not None]] = False
        cells = strange.nonzero().flatten()
        if not len(cells) or not self._is_nan(cells):
            return None
        if self.is_always_nan():
            return None
        while len(cells) > 1:
            half = cells[: len(cells) // 2]
            cells = half if self._is_nan(half) else cells[len(half) :]
        return int(cells[0]) if self._is_nan(cells) else None

    def is_always_nan(self) -> bool:
        """Whether the element is NaN whatever the inputs are."""
        return self._is_nan(torch.zeros(0, dtype=torch.int64))

    def _is_nan(self, cells: torch.Tensor) -> bool:
        """Whether the element is NaN where these cells are, and all others finite."""
        values = torch.ones(self.inputs.count)
        values[cells] = float("nan")
        self.weights.restore()
        self.inputs.fill(values)
        out, _ = self.rerun(self.call.arguments)
        return math.isnan(float(out[self.row, self.channel]))

    def stored(self, where: int) -> int | None:
        """The cell whose value a cell of memory holds afterwards; None where that is no copy of one.

        Weights are 0, so a sum of taps is no copy.
        """
        self.weights.fill(torch.zeros(self.weights.count))

        def held(inputs: torch.Tensor) -> float:
            self.inputs.fill(inputs)
            self.rerun({**self.call.arguments, "activation": None, "use_residual": False})
            return float(self.inputs.held(where))

        self.held = held(torch.ones(self.inputs.count))
        if self.held != 1:
            return None
        return self._decode(self.inputs, held)

    def copies(self, number: int) -> list[int]:
        """The cells of the cache that hold a copy of one cell afterwards, where all others and the weights are 0."""
        self.weights.fill(torch.zeros(self.weights.count))
        self.inputs.fill(single(self.inputs, number))
        self.rerun({**self.call.arguments, "activation": None, "use_residual": False})
        held = (self.inputs.memory["cache"].flatten() == 1).nonzero().flatten() + self.inputs.first["cache"]
        return [one for one in held.tolist() if one != number]

    def value(self, inputs: torch.Tensor, weights: torch.Tensor, **changed: Any) -> float:
        """The element for other inputs and weights, without activation and residual, with changed arguments."""
        self.inputs.fill(inputs)
        self.weights.fill(weights)
        given = {**self.call.arguments, "activation": None, "use_residual": False, **changed}
        out, _ = self.rerun(given)
        return float(out[self.row, self.channel])

    def _digits(self, cells: Cells) -> int:
        digits = 1
        while BASE**digits < cells.count:
            digits += 1
        return digits

    def _sources(
        self, weights: torch.Tensor, likely: int | None = None, *, use_residual: bool = False
    ) -> list[int] | None:
        """The cells whose sum the element is under those weights, a likely one first; None where it is no such sum."""

        def value(inputs: torch.Tensor) -> float:
            return self.value(inputs, weights, use_residual=use_residual)

        count = value(torch.ones(self.inputs.count))
        if count == 0:
            return []
        if count == 1 and likely is not None and value(single(self.inputs, likely)) == 1:
            return [likely]
        if not 0 < count <= MOST_SOURCES or count != int(count) or value(torch.zeros(self.inputs.count)):
            return None
        if count == 1:
            number = self._decode(self.inputs, value)
            return None if number is None else [number]
        return self._halves(value, 0, self.inputs.count, int(count))

    def _decode(self, cells: Cells, value: Value, likely: int | None = None) -> int | None:
        """The one cell that a value comes from: a likely one, else digit by digit."""
        if likely is not None and value(single(cells, likely)) == 1:
            return likely
        numbers, number = torch.arange(cells.count), 0
        for digit in range(self._digits(cells)):
            found = value((numbers // BASE**digit % BASE + 1).float())
            if not 1 <= found <= BASE or found != int(found):
                return None
            number += (int(found) - 1) * BASE**digit
        return number if value(single(cells, number)) == 1 else None  # what changes numbers changes codes too

    def _halves(self, value: Value, first: int, stop: int, count: int) -> list[int] | None:
        """The `count` cells between two numbers, by halving; one that counts twice is there twice."""
        if stop - first == 1 or not count:
            return [first] * count
        middle = (first + stop) // 2
        ones = torch.zeros(self.inputs.count)
        ones[first:middle] = 1
        left = value(ones)
        if left not in range(count + 1):
            return None
        halves = (
            self._halves(value, first, middle, int(left)),
            self._halves(value, middle, stop, count - int(left)),
        )
        return None if None in halves else [*halves[0], *halves[1]]  # type: ignore[misc]  # no None by now

    def _weight(self, number: int, tap: int) -> tuple[int, int] | None:
        """Which weight multiplies a cell, that of a tap most likely; None where that is no single one."""
        ones, own = single(self.inputs, number), self.weights.number("weight", (self.channel, tap))
        if self.value(ones, torch.ones(self.weights.count)) != 1:
            return None
        found = self._decode(self.weights, lambda codes: self.value(ones, codes), own)
        index = None if found is None else self.weights.place(found)[1]
        return None if index is None else (index[0], index[1])


def _without(cells: Sequence[int], others: Sequence[int]) -> list[int]:
    """The cells that are left when others, each once, are taken from them."""
    left = list(cells)
    for other in others:
        if other in left:
            left.remove(other)
    return left
