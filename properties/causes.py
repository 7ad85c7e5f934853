"""Causes: what a probe of the failed call says of a wrong element, in words and with the source line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from properties import lines, origins
from properties.activating import activated
from properties.arithmetic import RIGHT, contract_value, fitting, listed, named, tap_values
from properties.calls import Call, Rerun
from properties.cells import address
from properties.contents import bits
from properties.found_words import exchanged, wrong_residual, wrong_taps
from properties.linearity import nonlinear
from properties.memory import Guarded
from properties.probing import Found, Probe, TooLong
from properties.trials import upheld
from properties.ttir import Accesses
from properties.verdict import Violation

MOST_ROWS = 4096  # whose taps are gathered one by one to look for another computation
STATE = "the candidate keeps something between calls, or races"


@dataclass(frozen=True)
class Run:
    """One run of the operator in a comparison: what it is, in words, its call, and what it gave, `[T, C]`."""

    words: str
    call: Call
    out: torch.Tensor
    otherwise: str = STATE  # what it means if the same call alone gives something else

    def is_right(self, row: int, channel: int) -> bool:
        """Whether an element is what the contract's sum of its taps allows."""
        truth, allowed = contract_value(self.call, tap_values(self.call))
        got = self.out[row, channel].double()
        return bool((got - truth[row, channel]).abs() <= allowed[row, channel]) or bool(got == truth[row, channel])


def output(rerun: Rerun, this: Run, wrong: torch.Tensor, other: Run | None = None, rows: Sequence[int] = ()) -> Any:
    """What finds the cause of the first element of `wrong`, `[T, C]`.

    other: the run that it was compared with, if it was; rows: which row of it each row of this one is, if others.
    """
    return partial(_output, rerun=rerun, this=this, wrong=wrong, other=other, rows=rows)


def _output(
    violation: Violation,
    rerun: Rerun,
    this: Run,
    wrong: torch.Tensor,
    other: Run | None,
    rows: Sequence[int],
) -> None:
    row, channel = (int(i) for i in wrong.nonzero()[0])
    violation.taps = this.call.meant(row, channel)
    if other is None or len(this.out) > MOST_ROWS or not this.is_right(row, channel):
        return _probe(violation, rerun, this, (row, channel), wrong)
    its_row = list(rows).index(row) if rows else row
    its = torch.zeros_like(other.out, dtype=torch.bool)
    its[its_row, channel % its.shape[1]] = True
    if not other.is_right(its_row, channel % its.shape[1]):
        but, violation.but = violation.but, ""
        _probe(violation, rerun, other, (its_row, channel % its.shape[1]), its)
        violation.but = f"{this.words} is right, {other.words} is wrong: {violation.but or 'why is not known'}; {but}"
        return None
    both = f"{this.words} and {other.words} are both within the bound of the reference"
    for mine, its_own in ((torch.ones_like(wrong), torch.ones_like(its)), (wrong, its)):  # all of it is less by chance
        here = named(this.call, tap_values(this.call), this.out, mine)
        there = named(other.call, tap_values(other.call), other.out, its_own)
        for run, words, others in ((this, here, there), (other, there, here)):
            if RIGHT[0] not in words and set(words) - {*RIGHT, *others}:
                return violation.found(f"{both}, but {run.words} gives {', or '.join(words[:2])}")
    return violation.found(f"{both}, but round differently")


def _probe(violation: Violation, rerun: Rerun, run: Run, at: tuple[int, int], wrong: torch.Tensor) -> None:
    """Probes one element of a run and puts taps, line and words into the violation."""
    probe = Probe(rerun, run.call, *at)
    with probe.set_up():
        again, accesses = probe.again()
        if not _same(again[at], run.out[at]):
            right = ", which is right" if replace(run, out=again).is_right(*at) else ""
            gives = f"alone, the same call gives {float(again[at]):.6g}{right}"
            return violation.found(_raced(violation, probe, accesses, gives) or f"{gives}: {run.otherwise}")
        lane = lines.writer(accesses, probe.out, at)
        is_nan = bool(run.out[at].isnan())
        strange = probe.nan_from() if is_nan else None
        if is_nan and strange is None and probe.is_always_nan():
            violation.at = violation.at or lines.unwritten(probe)
            return violation.found("it is NaN whatever the inputs are, as memory that nobody has written")
        try:
            found = origins.find(probe)
        except TooLong as error:
            found, late = Found(violation.taps, is_complete=False), str(error)
        else:
            violation.taps, late = found.taps, ""
        own = run.call.source("x", at, *at)
        added = [probe.source(cell) for cell in found.added]
        residual = wrong_residual(added, own, bool(run.call.arguments["use_residual"]))
        words = ", ".join(filter(None, (wrong_taps(found, at[1]), residual)))
        if strange is not None and not words:
            violation.at = violation.at or lines.loaded(accesses, lane, probe.inputs.address(strange))
            return violation.found(f"a NaN in {probe.source(strange)} reaches it")
        if late:
            return violation.found(f"its taps were not probed: {late}")
        if words and (place := origins.another(probe, found)):
            violation.at = violation.at or lines.stored(accesses, address(probe.out, at))
            return violation.found(_strayed(at, place))
        line = lines.wrong(probe, found, accesses, lane)
        violation.at = violation.at or line
        if words:
            return violation.found(words + exchanged(found, at[1]) * (not line))
        bent = found.strange or nonlinear(probe, found)
        values, told = None, ""
        if len(run.out) <= MOST_ROWS:
            values = tap_values(run.call)
            fits, remark = fitting(run.call, values, run.out, wrong)
            told = listed(upheld(probe, fits), remark)
        bent = bent or ("" if told else activated(probe, found))
    if not found.is_complete:
        left = found.strange + (f"; what came out equals {told}" if told else "")
    elif any(tap.meant.kind != "nothing" for tap in found.taps):
        left = f"{_right(run, found)}{', but ' * bool(bent)}{bent}"
        far = f"what came out is {told}" if told else _far(run, at, values)
        is_unknown = not (bent or told)
        left += ", but the arithmetic is another" * is_unknown + (": " if is_unknown else "; ") * bool(far) + far
    else:
        left = f"it has no taps, as it should; what came out is {told or 'nothing that its input gives'}"
    return violation.found(left)


def _raced(violation: Violation, probe: Probe, accesses: Accesses | None, gives: str) -> str:
    """What a call gave that is another one now, and by which taps: those that a forward reads where it stores them."""
    try:
        found = origins.find(probe)
    except TooLong:
        return ""
    if not any(map(origins.is_raced, found.taps)):
        return ""
    violation.taps = found.taps
    violation.at = violation.at or lines.wrong(probe, found, accesses, lines.writer(accesses, probe.out, probe.at))
    by = " only because a store came before a load" if gives.endswith("right") else ""
    return f"{gives}{by}: {wrong_taps(found, probe.channel)}"


def _strayed(at: tuple[int, int], place: tuple[int, int]) -> str:
    """That the result of another row or channel was stored where an element is, in words."""
    (row, channel), (its_row, its_channel) = at, place
    whose = [f"row {its_row}"] * (its_row != row) + [f"channel {its_channel}"] * (its_channel != channel)
    here = [f"row {row}"] * (its_row != row) + [f"channel {channel}"] * (its_channel != channel)
    return (
        f"the result of {', '.join(whose)} was stored to {', '.join(here)}: its taps, weights and residual are all "
        f"those of {', '.join(whose)}"
    )


def _right(run: Run, found: Found) -> str:
    """What the probe saw of taps that are all right; it calls without the activation."""
    has_weights = all(tap.weight is not None for tap in found.taps if tap.meant.kind != "nothing")
    seen = "every tap comes from its place" + " and has its weight" * has_weights
    return f"called without the activation, {seen}" if run.call.arguments["activation"] else seen


def _far(run: Run, at: tuple[int, int], values: torch.Tensor | None) -> str:
    """How far a value that no known computation gives lies from the right one; empty where one is not finite."""
    error = math.nan if values is None else float(run.out[at].double() - contract_value(run.call, values)[0][at])
    return f"what came out is {error:+.3g} off the exact value" if math.isfinite(error) else ""


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(bits(one.reshape(1)) == bits(other.reshape(1).to(one.dtype))) or bool(one.isnan() & other.isnan())


def memory(rerun: Rerun, call: Call, where: int, got: torch.Tensor) -> Any:
    """What finds out what element `where` of the cache's memory holds, whose bits are `got`, and who stored it."""
    return partial(_memory, rerun=rerun, call=call, where=where, got=got)


def _memory(violation: Violation, rerun: Rerun, call: Call, where: int, got: torch.Tensor) -> None:
    probe = Probe(rerun, call, 0, 0)
    with probe.set_up():
        number = probe.inputs.first["cache"] + where
        out, accesses = probe.again()
        held = probe.after["cache"].flatten()[where]
        if not _same(held.cpu(), got.cpu()):
            right = ", which is right" if f"{float(held):.4g}" == str(violation.wanted).split(",")[0] else ""
            return violation.found(f"alone, the same call leaves {float(held):.6g} there{right}: {STATE}")
        violation.at = violation.at or lines.stored(accesses, probe.inputs.address(number))
        cell = probe.stored(number)
        if cell == number:
            return violation.found(_not_stored(violation, probe, accesses, number))
    if cell is None and probe.inputs.place(number)[1] is None:
        return violation.found(f"it holds {probe.held:g} whatever the inputs are, so no input")
    if cell is None:
        return violation.found(_made(call, out, probe.inputs.place(number)[1], got))
    name, index = probe.inputs.place(cell)
    if name != "x" or index is None:
        return violation.found(f"it holds what was at {probe.source(cell)}")
    row, channel = index
    slot = call.slot(row)
    if slot >= 0 and probe.inputs.place(number)[1] == call.stored_at(row, channel):
        return violation.found(
            f"x[{row}] was stored there, but changed on its way{_changed(call.before('x')[index], got)}"
        )
    block, head, offset, d = call.stored_at(row, channel)
    place = f"belongs at block {block}, head {head}, offset {offset}, d {d}"
    which = place if slot >= 0 else f"has slot {slot} and must not be stored"
    return violation.found(f"it holds x[{row}] channel {channel}, which {which}")


def _not_stored(violation: Violation, probe: Probe, accesses: Accesses | None, number: int) -> str:
    """That a cell holds what it held before, and where the row that belongs there went instead, with the line."""
    is_stored = accesses is not None and accesses.stores(probe.inputs.address(number))
    words, call = "nothing was stored there: " * (not is_stored) + "it holds what it held before", probe.call
    index = probe.inputs.place(number)[1]
    if index is None or (own := call.row_at(index)) is None:
        return words
    if is_stored:
        return words
    if masked := lines.masked_off(accesses, probe, probe.inputs.address(number), own):
        violation.at = violation.at or masked
        return words
    went = probe.copies(probe.inputs.number("x", own))
    if went:
        violation.at = violation.at or lines.stored(accesses, probe.inputs.address(went[0]))
        return f"{words}; x[{own[0]}] channel {own[1]} was stored to {_cell(probe, went[0])} instead"
    if (lane := lines.strayed(probe, own)) is None or lane[1] == number:
        return words
    violation.at = violation.at or lane[0]
    return f"{words}; the lane of x[{own[0]}] channel {own[1]} stored to {_cell(probe, lane[1])} instead"


def _cell(probe: Probe, number: int) -> str:
    """A cell of the cache by its axes, or the memory around it, in words."""
    place = probe.inputs.place(number)[1] or ()
    named = ", ".join(f"{axis} {at}" for axis, at in zip(("block", "head", "offset", "d"), place, strict=False))
    return named or probe.inputs.gap(number)


def _changed(meant: torch.Tensor, got: torch.Tensor) -> str:
    if meant == 0:
        return ": a zero has lost its sign"
    is_tiny = abs(float(meant)) < torch.finfo(meant.dtype).tiny
    return ": a subnormal number has become 0" if got == 0 and is_tiny else ""


def _made(call: Call, out: torch.Tensor, index: tuple[int, ...] | None, got: torch.Tensor) -> str:
    """What a stored value is that is no copy of an input: a result of its row, mostly."""
    if index is None or (own := call.row_at(index)) is None:
        return "it holds no input, but something that was computed"
    row = own[0]
    if _same(out[own], got.cpu()):
        return f"it holds out[{row}], the result, not the input x[{row}]"
    plain = Call({**call.arguments, "use_residual": False}, call.guarded)
    truth, allowed = contract_value(plain, tap_values(call))
    if abs(float(got) - float(truth[own])) <= float(allowed[own]):
        after = " after the activation" if call.arguments["activation"] else ""
        return f"it holds the sum of the taps of row {row}{after}, not the input x[{row}]"
    return f"it holds something made from x[{row}], not the input itself"


def written(rerun: Rerun, call: Call, guarded: Guarded, where: int) -> Any:
    """What finds the line that stored to an input, where the engine sees stores."""
    return partial(_written, rerun=rerun, call=call, guarded=guarded, where=where)


def _written(violation: Violation, rerun: Rerun, call: Call, guarded: Guarded, where: int) -> None:
    probe = Probe(rerun, call, 0, 0)
    with probe.set_up():
        _, accesses = probe.again()
    memory = guarded.memory
    at = memory.data_ptr() + where * memory.element_size()
    violation.at = violation.at or lines.stored(accesses, at)
    if accesses is not None and not violation.at:
        violation.found("no kernel stored there, so the host did")
