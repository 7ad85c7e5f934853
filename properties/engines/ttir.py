"""The ttir engine: the machine for Triton's IR; sees values and hazards, needs no GPU."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from properties.engines.base import Engine
from properties.engines.filling import filled_memory
from properties.engines.recording import Recording, Taped
from properties.number_words import plural
from properties.printable import told
from properties.ttir import (
    Accesses,
    CaptureForbidden,
    Hazard,
    Launch,
    Machine,
    Tape,
    Unsupported,
    frontend,
    specialisations,
)
from properties.verdict import NotJudged, Violation

# Triton's launcher skips an empty grid without a word: what it leaves unwritten is seen as unwritten.
HARMLESS = {"empty grid"}
MACHINE = Path(frontend.__file__).parent


class Ttir(Engine):
    """Runs every launch on the machine of `properties.ttir`, all checks on."""

    name = "ttir"
    no_graphs = ""
    sees_hazards = True

    def specialisations(self) -> int:
        """How many specialisations the machine has met in this process."""
        return specialisations()

    @contextmanager
    def running(self, read_only: list[torch.Tensor]) -> Iterator[Any]:
        """Replaces Triton's launch by the machine's."""
        with filled_memory(), Machine(read_only=read_only) as machine:
            yield machine

    @contextmanager
    def watching(self) -> Iterator[Accesses]:
        """The machine, with a log of every access."""
        accesses = Accesses()
        with filled_memory(), Machine(accesses=accesses):
            yield accesses

    def capture(self, region: Callable[[], Any], pool: Any) -> Recording:
        """Runs a region and notes what it does."""
        return Taped(region)

    @contextmanager
    def traced(self) -> Iterator[list[Launch]]:
        """Every launch made inside."""
        with Tape(is_capture=False) as tape:
            yield tape.launches

    def own_error(self, error: BaseException) -> BaseException | None:
        """What the machine does not know, or stumbles over itself, leaves the property unjudged."""
        if isinstance(error, Unsupported):
            return NotJudged(str(error))
        if isinstance(error, CaptureForbidden):
            return None
        last = traceback.extract_tb(error.__traceback__)[-1]
        if Path(last.filename).parent == MACHINE:
            words = f"{told(error)} ({Path(last.filename).name}:{last.lineno})"
            return NotJudged(f"the machine itself failed, which is its fault and not the candidate's: {words}")
        return None

    def observed(self, operator: str, machine: Any, result: object) -> Violation | None:
        """The first hazard of the call, or an output element that nobody wrote."""
        hazards: list[Hazard] = [hazard for hazard in machine.hazards if hazard.kind not in HARMLESS]
        if isinstance(result, torch.Tensor) and (unwritten := machine.unwritten(result)):
            hazards.append(unwritten)
        return violation_of(operator, hazards) if hazards else None


def violation_of(operator: str, hazards: list[Hazard]) -> Violation:
    """The first hazard of a call as a violation of the hazards group."""
    what, *where = str(hazards[0]).split("\n")
    more = f"{plural(len(hazards) - 1, 'more hazard')} in this call" if len(hazards) > 1 else ""
    place = " ".join(line.strip() for line in where)
    return Violation(f"hazards.{operator}", operator, got=f"has a hazard: {what}", at=place, but=more)
