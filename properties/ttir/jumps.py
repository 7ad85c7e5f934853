"""Bodies of several blocks that jump forward: what an early `return` becomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .binding import Binding, all_slots
from .cells import Cell, choose, read, write
from .control import everyone, judge_branch, terminator
from .program import Region
from .registry import Step
from .run import Frame


@dataclass
class _Arrivals:
    """Programs that have jumped to each block, and what they brought."""

    masks: dict[str, Any] = field(default_factory=dict)
    cells: dict[str, list[Cell]] = field(default_factory=dict)

    def add(self, label: str, mask: Any, cells: list[Cell]) -> None:
        if label in self.masks:
            self.cells[label] = [choose(mask, new, old, 0) for new, old in zip(cells, self.cells[label], strict=True)]
            self.masks[label] = self.masks[label] | mask
        else:
            self.masks[label], self.cells[label] = mask, cells


def jumping(region: Region, binding: Binding) -> list[Step]:
    """Binds blocks that only jump forward; each runs once, under the mask of the programs that came."""
    labels = {block.label: number for number, block in enumerate(region.blocks)}
    for number, block in enumerate(region.blocks):
        for label, _ in terminator(block).successors:
            if labels[label] <= number:
                raise binding.unsupported(terminator(block), "a jump backwards")
    used = [set().union(*(all_slots(operation) for operation in block.operations)) for block in region.blocks]
    bound = []
    for number, block in enumerate(region.blocks):
        elsewhere = frozenset().union(*(slots for other, slots in enumerate(used) if other != number))
        bound.append((block, binding.block(block, elsewhere), terminator(block)))

    def step(frame: Frame) -> None:
        outer = frame.active
        arrivals = _Arrivals()
        arrivals.add(region.entry.label, everyone(frame), [])
        returned: list[Cell] | None = None
        for block, steps, last in bound:
            mask = arrivals.masks.get(block.label)
            if mask is None or not mask.any():
                continue
            frame.active = None if outer is None and mask.all() else mask
            for slot, cell in zip(block.arguments, arrivals.cells[block.label], strict=False):
                write(frame, slot, cell)
            for inner in steps:
                inner(frame)
            if last.name == "tt.return":
                cells = [read(frame, slot) for slot in last.operands]
                if returned is None:
                    returned = cells
                else:
                    returned = [choose(mask, new, old, 0) for new, old in zip(cells, returned, strict=True)]
                continue
            targets = [mask]
            if last.name == "cf.cond_br":
                if binding.has_checks:
                    judge_branch(frame, last, last.operands[0])
                condition = np.broadcast_to(frame.data[last.operands[0]], frame.sizes)
                targets = [mask & condition, mask & ~condition]
            for (label, slots), going in zip(last.successors, targets, strict=True):
                arrivals.add(label, going, [read(frame, slot) for slot in slots])
        frame.active = outer
        frame.returned = returned

    return [step]
