"""Evidence: which elements of which calls a violation compared, and which events of a recording lead to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from properties.contents import BITS
from properties.invariants.run import number
from properties.reproducer.labels import CONSTANT, DERIVED, ELEMENTS, Comparison
from properties.reproducer.recording import Event, Place, Replayed, Run, Unwritable, Version, Written, places_of
from properties.verdict import Violation

MOST = 32  # elements that a script names one by one
MOST_WHOLE = 256  # elements of a result that is written down whole


@dataclass(eq=False)
class Pairs:
    """Elements of one version and what each should be: an element of another version, or a constant.

    got_at, wanted_at: offsets as `Place.offsets` counts them. got, wanted: what was seen. left: how many more differ.
    """

    got_version: Version
    got_at: torch.Tensor
    got: torch.Tensor
    wanted: torch.Tensor
    wanted_version: Version | None = None
    wanted_at: torch.Tensor | None = None
    allowed: torch.Tensor | None = None
    left: int = 0

    @property
    def is_loose(self) -> bool:
        """Whether the sign of a zero and a NaN's payload are left open: in a result that is compared with constants."""
        return self.wanted_version is None and self.got_version.place.is_result


def chosen(comparisons: Sequence[Comparison], violation: Violation) -> Comparison:
    """The last comparison whose first wrong element is the violation's; the last of all where it names no number."""
    for found in reversed(comparisons):
        first = found.wrong.flatten().nonzero().flatten()[0]
        seen = {number(one.flatten()[first]) for one in _values(found)}
        if violation.wanted is None or not seen.isdisjoint(str(violation.got).split()):
            return found
    raise Unwritable("none of its comparisons is between elements that the operators wrote")


def _values(found: Comparison) -> tuple[torch.Tensor, ...]:
    """What was compared, in every dtype that its bits may belong to."""
    if found.allowed is not None:
        return tuple(found.got.to(dtype) for dtype in BITS)
    integers = found.got.dtype in BITS.values()
    return found.got, *(
        found.got.view(dtype) for dtype, of_bits in BITS.items() if integers and of_bits == found.got.dtype
    )


def pairs(found: Comparison, versions: Sequence[Version]) -> list[Pairs]:
    """What was compared, by the versions that it is of; those in which nothing differs are left out."""
    got_labels, wanted_labels = found.got_labels.flatten(), found.wanted_labels.flatten()
    got, wanted, wrong = found.got.flatten(), found.wanted.flatten(), found.wrong.flatten()
    allowed = None if found.allowed is None else found.allowed.flatten()
    if bool((got_labels[wrong] == CONSTANT).any()):
        got_labels, wanted_labels, got, wanted = wanted_labels, got_labels, wanted, got
    looked_at = found.looked_at.flatten() & (got_labels != wanted_labels) & (got_labels != CONSTANT)
    if (wrong & looked_at & ((got_labels == DERIVED) | (wanted_labels == DERIVED))).any():
        raise Unwritable("what it compares was computed from results")
    keys = torch.stack([got_labels // ELEMENTS, wanted_labels // ELEMENTS], dim=1)
    groups = []
    for at in (wrong & looked_at).nonzero().flatten().tolist():
        key = tuple(keys[at].tolist())
        if key not in groups:
            groups.append(key)
    return [
        _group(versions, key, (keys == torch.tensor(key)).all(dim=1) & looked_at,
               (got_labels, wanted_labels, got, wanted, wrong, allowed))
        for key in groups
    ]  # fmt: skip  # a call in two lines


def _group(versions: Sequence[Version], key: tuple[int, int], mine: torch.Tensor, data: tuple) -> Pairs:
    got_labels, wanted_labels, got, wanted, wrong, allowed = data
    version = versions[key[0] - 1]
    other = versions[key[1] - 1] if key[1] else None
    at, left = mine.nonzero().flatten(), 0
    is_whole = version.place.is_result and len(at) == len(version.place.offsets)
    is_other_whole = other is None or (other.place.is_result and len(at) == len(other.place.offsets))
    if not (is_whole and is_other_whole and (other is not None or len(at) <= MOST_WHOLE)):
        differing = (mine & wrong).nonzero().flatten()
        if len(at) > MOST:
            at, left = differing[:MOST], max(0, len(differing) - MOST)
    dtype = version.place.main.dtype

    def numbers(values: torch.Tensor) -> torch.Tensor:
        return values.view(dtype) if BITS.get(dtype) == values.dtype else values

    return Pairs(
        version,
        got_labels[at] % ELEMENTS,
        numbers(got[at]),
        numbers(wanted[at]),
        other,
        None if other is None else wanted_labels[at] % ELEMENTS,
        None if allowed is None else allowed[at],
        left,
    )


def needed(events: Sequence[Event], versions: Sequence[Version], wanted: Sequence[Version], last: Run) -> list[Event]:
    """The events that lead to the wanted versions and to the event `last`, in order."""
    writes = {(version.event, version.place) for version in versions}
    asked = {version.event for version in wanted} | {last}
    live: set[Place] = set()
    kept: list[Event] = []
    for event in reversed(events):
        if isinstance(event, Written):
            if event.place not in live:
                continue
            asked |= {version.event for version in copied(event, versions)}
        else:
            if event not in asked and not any((event, place) in writes for place in live):
                continue
            live |= set(places_of(event))
            asked |= {event.captured} if isinstance(event, Replayed) else set()
        kept.append(event)
    return kept[::-1]


def copied(event: Written, versions: Sequence[Version]) -> list[Version]:
    """The versions that the host copied from."""
    return [versions[index - 1] for index in (event.labels // ELEMENTS).unique().tolist() if index]
