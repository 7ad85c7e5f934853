"""The judge of one run: candidate and engine bound together, its header and its verdicts in words."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from properties import candidate, configurations, engines, interrupts, surroundings, tally
from properties.baseline import Baseline
from properties.engines.base import Engine, Ops
from properties.number_words import counted
from properties.verdict import HOLDS, NOT_JUDGED, VIOLATED, total


@dataclass
class Judge:
    """A loaded candidate on a chosen engine; `specialisations` adds up those of the run's other processes."""

    ops: Ops
    engine: Engine
    specialisations: int = 0

    @classmethod
    def from_options(cls, target: str, engine_name: str, base: Path, baseline: str | None = None) -> Judge:
        """Loads and binds, a kernel to compare with too; raises BadCandidate or BadEngine with one line.

        The engine comes first: Triton's interpreter must be asked for before a kernel is defined.
        """
        interrupts.watch()
        engine = engines.choose(engine_name)
        ops = engine.bind(candidate.load(target, base))
        if baseline is not None:
            ops.baseline = Baseline(candidate.load(baseline, base, "baseline"), engine)
        return cls(ops, engine)

    def header(self, profile: str) -> list[str]:
        """What is judged, on what, with which versions."""
        one = self.ops.candidate
        missing = f"; not offered: {', '.join(one.missing)}" if one.missing else ""
        versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "triton", "numpy", "hypothesis"))
        return [
            f"judging: {one.title}, {', '.join(one.operators)}{missing}",
            *([f"baseline: {self.ops.baseline.candidate.title}"] if self.ops.baseline else []),
            f"engine: {self.engine.title()}; profile {profile}",
            f"versions: Python {platform.python_version()}, {versions}",
            *(f"note: importing the candidate {note}" for note in one.notes),
        ]

    def travel(self) -> dict[str, object]:
        """This process's counts, as plain data for the controller."""
        return {
            "counts": tally.dump(),
            "configurations": configurations.LAUNCHES,
            "notes": surroundings.NOTES,
            "specialisations": self.engine.specialisations(),
        }

    def collect(self, travelled: dict[str, object]) -> None:
        """Adds the counts of another process."""
        tally.merge(travelled.get("counts", {}))  # type: ignore[arg-type]  # what dump() made
        configurations.merge(travelled.get("configurations", {}))  # type: ignore[arg-type]  # as travel() put it
        surroundings.merge(travelled.get("notes", {}))  # type: ignore[arg-type]  # as travel() put it
        self.specialisations += int(str(travelled.get("specialisations", 0)))

    def failed(self) -> bool:
        """Whether a property was violated, or it or a configuration left unjudged though it is offered."""
        if configurations.missed():
            return True
        counts = {name: count for name, count in tally.COUNTS.items() if name not in tally.SKIPPED}
        verdicts = [(tally.verdict(name, count)[0], count) for name, count in counts.items()]
        return any(what == VIOLATED or (what == NOT_JUDGED and not count.is_excused) for what, count in verdicts)

    def summary(self) -> list[str]:
        """One line per property, then how many specialisations were compiled."""
        lines = []
        for name in sorted(tally.COUNTS):
            count = tally.COUNTS[name]
            what, reason = tally.verdict(name, count)
            cases = f"{count.judged:>7,} {'case ' if count.judged == 1 else 'cases'}"
            if what == VIOLATED and count.judged:
                reason = "; ".join(filter(None, (reason, f"not seen in {counted(count.judged, 'other case')}")))
            shown = cases if count.judged and what != VIOLATED else " " * len(cases)
            lines.append(f"{what:<10} {name:<28} {shown}  {reason}".rstrip())
            for example in count.examples.values():
                lines += [f"           {line}" for line in example.splitlines() if line]
        if not lines:
            return []
        tallied = [tally.verdict(name, count)[0] for name, count in tally.COUNTS.items()]
        totals = ", ".join(total(tallied.count(kind), kind) for kind in (HOLDS, VIOLATED, NOT_JUDGED))
        cases_in_all = sum(count.judged for count in tally.COUNTS.values())
        lines += [f"missing    {name} is not offered by the candidate" for name in self.ops.candidate.missing]
        lines += [f"partly     {dtype} not judged: {why}" for dtype, why in self.engine.unjudged_dtypes.items()]
        lines += configurations.lines()
        lines += surroundings.lines()
        compiled = "unknown" if (known := self.compiled()) is None else f"{known:,}"
        lines.append(f"{totals}; {counted(cases_in_all, 'case')}; specialisations compiled: {compiled}")
        return lines

    def compiled(self) -> int | None:
        """How many specialisations all processes of the run compiled, None where the engine cannot tell."""
        own = self.engine.specialisations()
        return None if own < 0 else self.specialisations + own
