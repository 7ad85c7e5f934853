"""Lines: which line of a kernel read or stored what a probe found wrong, where the engine sees accesses."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from properties.cells import address
from properties.found_words import wrong_weights
from properties.probing import Found, Probe
from properties.ttir import Accesses, Lane
from properties.verdict import Tap


def writer(accesses: Accesses | None, out: torch.Tensor, index: Sequence[int]) -> Lane | None:
    """The lane that stored an element of the output last."""
    stores = accesses.stores(address(out, index)) if accesses is not None else []
    return stores[-1][1] if stores else None


def loaded(accesses: Accesses | None, lane: Lane | None, where: int) -> str:
    """The line of the load by which a lane read an address."""
    loads = accesses.loads(where, lane) if accesses is not None and lane is not None else []
    return loads[-1].place if loads else ""


def wrong(probe: Probe, found: Found, accesses: Accesses | None, lane: Lane | None) -> str:
    """The line that reads the first wrong tap, weight or residual, or that masked off what should have been read.

    Where the tap is wrong by another row's metadata or table entry, it is the line that reads that.
    """
    if accesses is None or lane is None:
        return ""
    if found.by and (line := loaded(accesses, lane, address(probe.call.arguments[found.by.name], found.by.index))):
        return line
    meant = {probe.number(tap.meant) for tap in found.taps}  # what the lane had to read as well
    for tap in (tap for tap in found.taps if tap.is_wrong):
        number, cells = probe.number(tap.meant), found.cells[tap.index]
        if tap.is_repeated:
            return _repeated([load.place for load in accesses.loads(probe.inputs.address(cells[0]), lane)])
        if number is None or cells:
            return _reading(accesses, lane, [(probe.inputs.address(cell), cell in meant) for cell in cells])
        tensor = probe.call.arguments["x" if tap.meant.kind == "x" else "cache"]
        return _missed(accesses, lane, probe.inputs.address(number), tensor)
    if weights := wrong_weights(found.taps, probe.channel):
        return next(filter(None, (_weighing(accesses, lane, probe, tap) for tap in weights)), "")
    own = probe.inputs.number("x", (probe.row, probe.channel))
    others = [(probe.inputs.address(cell), cell in meant) for cell in found.added if cell != own]
    if len(found.added) > 1 and not others:
        return _repeated_residual(accesses, lane, probe)
    return _reading(accesses, lane, others)


def _weighing(accesses: Accesses, lane: Lane, probe: Probe, tap: Tap) -> str:
    """The only line that loads the weight of a tap; none that loads each tap's own weight once, in their order."""
    weight, columns = probe.call.arguments["weight"], range(probe.call.W)
    assert tap.weight is not None
    lines = {load.place for load in accesses.loads(address(weight, tap.weight), lane)}
    if tap.weight[0] == probe.channel:
        lines -= {line for line in lines if _columns(accesses, lane, probe, line) == list(columns)}
    return lines.pop() if len(lines) == 1 else ""


def _columns(accesses: Accesses, lane: Lane, probe: Probe, line: str) -> list[int]:
    """The columns of the channel's weight that a line loads, in order."""
    weight, entries = probe.call.arguments["weight"], {id(one): at for at, one in enumerate(accesses.entries)}
    loads = [
        (entries[id(load)], column)
        for column in range(probe.call.W)
        for load in accesses.loads(address(weight, (probe.channel, column)), lane)
        if load.place == line
    ]
    return [column for _, column in sorted(loads)]


def _repeated_residual(accesses: Accesses, lane: Lane, probe: Probe) -> str:
    """The only line that loads the row's own input, which is added more than once, or that which stores the sum."""
    own = address(probe.call.arguments["x"], probe.at)
    loads = {load.place for load in accesses.loads(own, lane)}
    return loads.pop() if len(loads) == 1 else f"{stored(accesses, address(probe.out, probe.at))} (of the sum)"


def _missed(accesses: Accesses, lane: Lane, where: int, tensor: torch.Tensor) -> str:
    """The line that did not load an address of a tensor; none where it did, and what was read went astray later."""
    done = {load.place for load in accesses.loads(where, lane, is_own=True)}
    if masked := [load.place for load in accesses.loads(where, lane, is_masked=True) if load.place not in done]:
        return f"{masked[0]} (masked off)"
    for load, is_outside in accesses.missed_loads(tensor, lane) if not done else ():
        return f"{load.place} ({'masked off, or outside of the tensor' if is_outside else 'masked off'})"
    return ""


def _reading(accesses: Accesses, lane: Lane, read: Sequence[tuple[int, bool]]) -> str:
    """The line that loads one of these addresses; of one that must be read, the only one that does so repeatedly."""
    for where, is_meant in sorted(read, key=lambda one: one[1]):
        lines = [load.place for load in accesses.loads(where, lane)]
        if lines and (not is_meant or len(set(lines)) == 1):
            return lines[-1]
        if line := _repeated(lines):
            return line
    return ""


def _repeated(lines: Sequence[str]) -> str:
    """The only line that is there more than once; empty where none is, or several are."""
    repeated = {line for line in lines if lines.count(line) > 1}
    return repeated.pop() if len(repeated) == 1 else ""


def unwritten(probe: Probe) -> str:
    """The line that should have stored an element of the output: masked off there, or the only one that stores any."""
    accesses, out = probe.accesses, probe.out
    if accesses is None:
        return ""
    if masked := masked_off(accesses, probe, address(out, probe.at), probe.at):
        return masked
    places = {one.place for one in accesses.entries if one.is_store and one.buffer.address == out.data_ptr()}
    return f"{places.pop()} (elsewhere)" if len(places) == 1 else ""


def stored(accesses: Accesses | None, where: int) -> str:
    """The line that stored to an address last."""
    stores = accesses.stores(where) if accesses is not None else []
    return stores[-1][0].place if stores else ""


def masked_off(accesses: Accesses | None, probe: Probe, where: int, own: tuple[int, int]) -> str:
    """The line that would have stored a row's channel to an address, with the lane of that very element masked off.

    Lanes that are masked off anyway, as those behind the last row, may have any address.
    """
    masked = accesses.masked_stores(where) if accesses is not None else []
    lines = [one.place for one, lane in masked if _is_of(accesses, lane, probe, own)]
    return f"{lines[-1]} (masked off)" if lines else ""


def _is_of(accesses: Accesses | None, lane: Lane, probe: Probe, own: tuple[int, int]) -> bool:
    """Whether a lane is that of an element: it stores its output in that launch, or else loads its input."""
    done = writer(accesses, probe.out, own)
    if accesses is None or (done is not None and done.launch == lane.launch):
        return done == lane
    return bool(accesses.loads(address(probe.call.arguments["x"], own), lane, is_own=True))


def strayed(probe: Probe, own: tuple[int, int]) -> tuple[str, int] | None:
    """The only line by which the lane of an element stores to the cache, and the cell that it stores to."""
    accesses, lane = probe.accesses, writer(probe.accesses, probe.out, own)
    if accesses is None or lane is None:
        return None
    cache = probe.call.arguments["cache"]
    found = [(one.place, offset) for one, offset in accesses.stores_by(lane, cache)]
    if len(found) != 1:
        return None
    return found[0][0], probe.inputs.first["cache"] + cache.storage_offset() + found[0][1]
