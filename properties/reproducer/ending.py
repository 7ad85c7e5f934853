"""Ending: what a script does after, or around, its last call, to tell whether the property is violated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from properties import bounds
from properties.contents import BITS
from properties.reproducer import evidence, parts, relevance, told_hazards
from properties.reproducer.events import Event, Place, Unwritable, Version, Written
from properties.reproducer.evidence import Pairs
from properties.reproducer.labels import Comparison, Labels
from properties.reproducer.literals import DIGITS, is_near, spelled, wrapped
from properties.reproducer.relevance import Reduction
from properties.reproducer.script import Body
from properties.verdict import Violation

HOLDS = 'print(PROPERTY, "holds in this case")'


@dataclass
class Ending:
    """A way to end. asked: versions that are compared; told: what a failing run prints, somewhere."""

    asked: list[Version] = field(default_factory=list)
    told: str = ""
    compared: int = 0  # elements

    def is_told(self, printed: str, loosely: bool = False) -> bool:
        """Whether a run that failed has failed as it should; `loosely`: what came out may be another wrong number."""
        return self.told.lower() in printed.lower()

    def is_told_alike(self, printed: str) -> bool:
        """Whether a run that is told has printed the violation's own numbers."""
        return self.is_told(printed)

    def reduced(self, events: Sequence[Event], how: Reduction) -> tuple[Ending, dict[Place, torch.Tensor]]:
        """The same with fewer elements compared, and what of places must stay; here nothing of them is compared."""
        return self, relevance.reduced(events, [], how, keeps_all=False)

    def helpers(self, body: Body) -> str:
        """The functions that it needs."""
        return ""

    def around(self, lines: list[str]) -> list[str]:
        """The lines of the last call, with what stands around them."""
        return lines

    def lines(self, body: Body) -> list[str]:
        """What follows the last call."""
        raise NotImplementedError


def ending(
    violation: Violation,
    events: Sequence[Event],
    versions: Sequence[Version],
    comparisons: Sequence[Comparison],
    labels: Labels,
) -> Ending:
    """The way that tells this violation. Raises Unwritable."""
    got = str(violation.got)
    if got.startswith("has a hazard: never written"):
        raise Unwritable(
            "only the judge sees that nobody writes an element; scripts of other properties show it as NaN"
        )
    if violation.property_name.startswith("hazards.") and got.startswith("has a hazard"):
        return Hazard(told=got.removeprefix("has a hazard: ").split(";")[0], at=violation.at)
    if got.startswith("raised "):
        name = got.removeprefix("raised ").partition(" on a case")[0]
        # A name that cannot stand on one line, or is cut, is told as far as it can.
        return Raised(told=f"raised {name}:" if name.isidentifier() else f"raised {re.split(r'[^a-zA-Z0-9]', name)[0]}")
    if got.startswith("called os."):
        raise Unwritable("a script would end where the call ends the process, with an exit code of the kernel's choice")
    if got.startswith("returned "):
        return Returned(told="returned memory of" if "memory" in got else got.split(", but")[0].split(" of ")[0])
    if got.startswith("changed "):
        return Changed(told="changed", names=[name for name in parts.READ if f"changed {name}" in got])
    if got.startswith("given "):
        return Accepted()
    if violation.property_name == "values.unbiased":
        return Mean(versions, labels, told="ulp")
    if not comparisons:
        raise Unwritable("none of its comparisons is between elements that the operators wrote")
    found = evidence.pairs(evidence.chosen(comparisons, violation), versions)
    if not found:
        raise Unwritable("what differs came from no call")
    if shared := [one.got_version for one in found if _is_shared(one.got_version)]:
        return Returned(shared[:1], told="returned memory of")  # which of the results was compared cannot be told
    told = "" if violation.wanted is None else f" = {got.split()[0]}, but should be "
    return Compared(found, told, "" if violation.wanted is None else str(violation.wanted).split()[0].rstrip(","))


def _is_shared(version: Version) -> bool:
    """Whether it is a result in whose memory another result of the same event lies."""
    if isinstance(version.event, Written) or not version.place.is_result:
        return False
    results = [call.result for call in version.event.calls if call.result is not None]
    memory = [one.main.untyped_storage().data_ptr() for one in results if one.main.numel()]
    return memory.count(version.place.main.untyped_storage().data_ptr()) > 1


@dataclass
class Hazard(Ending):
    """The call alone: the machine tells the hazard, `at` a line of the kernel."""

    at: str = ""

    def is_told(self, printed: str, loosely: bool = False) -> bool:
        """Whether the machine tells the hazard, or loosely one of its kind at its line."""
        return told_hazards.own(printed, self.told, self.at, loosely) is not None

    def lines(self, body: Body) -> list[str]:
        """Says where nothing can be told."""
        return [
            "if MACHINE is None:",
            '    print("ran; a hazard shows under the machine only, in a checkout of the judge:", UNDER_MACHINE)',
            "    sys.exit(2)",
            'print("ran to its end; what the machine tells follows")',
        ]


class Raised(Ending):
    """The last call raises."""

    def around(self, lines: list[str]) -> list[str]:
        """Catches everything: a candidate that exits must not end the script as if all were well."""
        return [
            "try:",
            *(f"    {part}" for line in lines for part in line.splitlines()),
            "except BaseException as error:",
            '    print(PROPERTY, f"is violated: the call raised {type(error).__name__}: {error}")',
            "    sys.exit(1)",
        ]

    def lines(self, body: Body) -> list[str]:
        """All is well if nothing was raised."""
        return [HOLDS]


class Returned(Ending):
    """The last call, or that of the version asked for, returns what is no result."""

    def helpers(self, body: Body) -> str:
        """The check."""
        return parts.CHECK

    def lines(self, body: Body) -> list[str]:
        """Compares shape, dtype, device and memory with those of x and of all that came before."""
        calls = body.names.every_call
        last = next(call for call in reversed(calls) if not self.asked or call.result is self.asked[0].place)
        result = body.names.owned[last.result].name if last.result is not None else "out"
        x = body.names.argument(last.arguments["x"])
        others = [f"{own.name}={own.name}" for place, own in body.names.owned.items() if place is not last.result]
        return [
            wrapped(f"wrong = check({result}, {x}, dict({', '.join(dict.fromkeys(others))}))"),
            'print(PROPERTY, f"is violated: {wrong}" if wrong else "holds in this case")',
            "sys.exit(1 if wrong else 0)",
        ]


@dataclass
class Changed(Ending):
    """The last call leaves something of the process changed."""

    names: list[str] = field(default_factory=list)

    def helpers(self, body: Body) -> str:
        """Reads what was changed."""
        return parts.STATE.format(items=", ".join(f'"{name}": {parts.READ[name]}' for name in self.names))

    def around(self, lines: list[str]) -> list[str]:
        """Reads it before."""
        return ["before = state()", *lines]

    def lines(self, body: Body) -> list[str]:
        """Compares it."""
        return [
            "wrong = changed(before)",
            'print(PROPERTY, "is violated" if wrong else "holds in this case")',
            "sys.exit(1 if wrong else 0)",
        ]


class Accepted(Ending):
    """The last call should be refused by ValueError."""

    def lines(self, body: Body) -> list[str]:
        """Looks at what the call that may raise has raised."""
        return [
            "is_refused = isinstance(refusal, ValueError)",
            'words = f"is violated: should raise ValueError, but gave {refusal!r}"',
            'print(PROPERTY, "holds in this case" if is_refused else words)',
            "sys.exit(0 if is_refused else 1)",
        ]


class Mean(Ending):
    """The mean error of one output."""

    def __init__(self, versions: Sequence[Version], labels: Labels, told: str) -> None:
        super().__init__([versions[-1]], told)
        self.version = next(version for version in reversed(versions) if version.place.is_result)
        self.wanted = labels.differences[-1][1].float().double()  # 2**-24 relatively is no part of a bf16 or fp16 ulp
        if self.version.place.main.dtype == torch.float32:
            self.wanted = labels.differences[-1][1]
        self.asked = [self.version]

    def reduced(self, events: Sequence[Event], how: Reduction) -> tuple[Ending, dict[Place, torch.Tensor]]:
        """Every element counts."""
        return self, relevance.reduced(events, [], how, keeps_all=True)

    def helpers(self, body: Body) -> str:
        """The mean."""
        precision, least = bounds._FORMATS[self.version.place.main.dtype]
        return parts.MEAN.format(precision=precision, least=least)

    def lines(self, body: Body) -> list[str]:
        """Compares the mean with what chance may make it."""
        slots = next(own.name for place, own in body.names.owned.items() if place.name == "slot_mapping")
        return [
            wrapped(f"wanted = torch.as_tensor({spelled(self.wanted)[0]}, dtype=torch.float64)"),
            f"mean, limit = mean_error({body.variable(self.version)}, wanted, {slots}.cpu() >= 0)",
            'words = f"errs by {mean:+.3f} ulp on average, but may by {limit:.3f}"',
            'print(PROPERTY, f"is violated: {words}" if abs(mean) > limit else "holds in this case")',
            "sys.exit(1 if abs(mean) > limit else 0)",
        ]


class Compared(Ending):
    """Elements of results or of memory differ from constants, or from those of other calls."""

    def __init__(self, found: list[Pairs], told: str, wanted: str) -> None:
        asked = [one.got_version for one in found]
        asked += [one.wanted_version for one in found if one.wanted_version is not None]
        super().__init__(asked, told, sum(len(one.got_at) for one in found))
        self.found, self.wanted = found, wanted

    def reduced(self, events: Sequence[Event], how: Reduction) -> tuple[Ending, dict[Place, torch.Tensor]]:
        """The first channel that differs alone, where the others are made alike."""
        found = relevance.in_first_channel(self.found) if how.channels else self.found
        return Compared(found, self.told, self.wanted), relevance.reduced(events, found, how, keeps_all=False)

    def helpers(self, body: Body) -> str:
        """The comparison."""
        one = self.found[0]
        integers = BITS.get(one.got_version.place.main.dtype)
        wrong, more, tail, how = "got != wanted", "", "", "exactly"
        if one.allowed is not None:
            (how, wrong), more, tail = parts.WITHIN, ", within=None", " within {within[i].item():.2g}"
            if (overflow := self._overflow()) is not None:
                wrong += f" & ~(got.isinf() & (got.sign() == wanted.sign()) & (wanted.abs() + within >= {overflow!r}))"
        elif integers is not None:
            strict = parts.BITS[1].format(bits=str(integers))
            kinds = {pairs.is_loose for pairs in self.found}
            how, wrong = parts.LOOSE if kinds == {True} else (parts.BITS[0], strict)
            if len(kinds) == 2:
                more, wrong = ", is_loose=False", f"{parts.LOOSE[1]} if is_loose else {strict}"
        cast = ", dtype=torch.float64" if one.allowed is not None else ", dtype=got.dtype"
        digits = f":.{found}g" if (found := DIGITS.get(one.got_version.place.main.dtype)) else ""
        formats = {"digits": digits, "wanted_digits": ":.12g" if one.allowed is not None else digits}
        return parts.COMPARE.format(how=how, wrong=wrong, more=more, tail=tail, cast=cast, **formats)

    def _overflow(self) -> float | None:
        """From where on a correct kernel may round to infinity, if any of the elements may."""
        for one in self.found:
            dtype = one.got_version.place.main.dtype
            if one.allowed is not None and bounds.may_overflow(one.wanted, one.allowed, dtype).any():
                largest = torch.tensor(torch.finfo(dtype).max, dtype=torch.float64)
                return float(largest + 2 * bounds.half_ulp(largest, dtype))
        return None

    def is_told(self, printed: str, loosely: bool = False) -> bool:
        """Whether the violation's number came out, or loosely whether any element differs."""
        return super().is_told(printed) or (loosely and ", but should be " in printed)

    def is_told_alike(self, printed: str) -> bool:
        """Whether what came out and what should have are both the violation's, however many digits are printed."""
        found = re.findall(re.escape(self.told.lower()) + r"([^\s,]+)", printed.lower())
        return not self.told or any(is_near(one, self.wanted.lower()) for one in found)

    def lines(self, body: Body) -> list[str]:
        """Compares everything."""
        made = []
        both = {one.is_loose for one in self.found} == {True, False}
        for number, one in enumerate(self.found):
            line = body.compare(one)
            if both and one.is_loose:
                line = f"{line[:-1]}, is_loose=True)"
            note = f"  # and {one.left} more" if one.left else ""
            made.append(wrapped(f"wrong {'+' if number else ''}= {line}") + note)
        words = f"is violated, wrong elements: {{wrong}} of the {self.compared} compared here"
        verdict = f'print(PROPERTY, f"{words}" if wrong else "holds in this case")'
        return [*made, verdict, "sys.exit(1 if wrong else 0)"]
