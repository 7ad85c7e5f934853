"""Metadata: owners and first rows, as the plain construction gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from properties.cases import Metadata, metadata_edges
from properties.number_words import counted, plural, times, with_padding
from properties.printable import class_name, one_line
from properties.tally import invariant
from properties.tensors import MetadataBatch, build_metadata
from properties.verdict import Violation
from reference.metadata import sequence_metadata

NEEDS = {
    "two requests",
    "empty request",
    "first request empty",
    "last request empty",
    "padded rows",
    "padding left out",
    "slack",
    "many requests",
    "more rows than a tile",
}


def call(ops: Any, batch: MetadataBatch) -> None:
    """Calls `sconv_seq_metadata` as the case says."""
    __tracebackhide__ = True
    arguments = {name: guarded.view for name, guarded in batch.guarded.items()}
    optional = {} if batch.case.padding is None else {"num_padded_tokens": batch.num_padded_tokens}
    ops.sconv_seq_metadata(
        arguments["query_start_loc"],
        batch.num_reqs,
        batch.num_actual_tokens,
        arguments["seq_idx_out"],
        arguments["query_start_out"],
        **optional,
    )


@invariant("metadata", operator="sconv_seq_metadata", needs=NEEDS, edges=metadata_edges)
def searchsorted(ops: Any, case: Metadata) -> None:
    """Both buffers equal the plain searchsorted construction bit for bit, padding is 0, nothing else is written."""
    __tracebackhide__ = True
    compare(ops, case, "metadata.searchsorted")


def compare(ops: Any, case: Metadata, property_name: str) -> None:
    """Calls the operator and compares both buffers whole, what lies around them included, and its input."""
    __tracebackhide__ = True
    batch = build_metadata(case, ops.home)
    call(ops, batch)
    loc = batch.guarded["query_start_loc"]
    truths = sequence_metadata(loc.view.cpu(), batch.num_reqs, batch.num_actual_tokens, batch.num_padded_tokens)
    for name, truth in zip(("seq_idx_out", "query_start_out"), truths, strict=True):
        guarded = batch.guarded[name]
        wanted, first = guarded.before.clone(), int(guarded.view.storage_offset())
        wanted[first : first + len(truth)] = truth.to(wanted.device)
        wrong = (guarded.memory != wanted).nonzero().flatten()
        if len(wrong):
            raise _wrong_entry(property_name, batch, name, [int(i) - first for i in wrong], wanted)
    if len(loc.changed):
        raise Violation(property_name, "query_start_loc", got="was written, but is an input", case=case)


def _wrong_entry(property_name: str, batch: MetadataBatch, name: str, wrong: list[int], wanted: Any) -> Violation:
    row, first = wrong[0], batch.guarded[name].view.storage_offset()
    got = int(batch.guarded[name].memory[row + first])
    lengths = batch.case.lengths
    over = f", {times(batch.case.repeat)} over" if batch.case.repeat > 1 else ""
    return Violation(
        property_name,
        name,
        where={"row": row},
        got=got,
        wanted=int(wanted[row + first]),
        let=(
            f"{plural(batch.num_reqs, 'request')}{_each(lengths)}{over}: "
            f"{with_padding(batch.num_actual_tokens, batch.num_padded_tokens)}"
        ),
        then=_owed(batch, row),
        but=f"{_found(batch, name, row, got)}{_count(len(wrong))} of {name} {'is' if len(wrong) == 1 else 'are'} wrong",
        case=batch.case,
    )


def _count(entries: int) -> str:
    return counted(entries, "entry", "entries")


def _each(lengths: Sequence[int]) -> str:
    """How many rows each request has, in words; nothing of no requests."""
    if len(lengths) < 2:
        return "".join(f" with {plural(length, 'row')}" for length in lengths)
    return f" with {', '.join(map(str, lengths[:-1]))} and {lengths[-1]} rows"


def _span(batch: MetadataBatch, request: int) -> str:
    loc = batch.guarded["query_start_loc"].view
    begin, end = int(loc[request]), int(loc[request + 1])
    if end - begin < 2:
        return f"row {begin}" if end > begin else "no rows"
    return f"rows {begin} to {end - 1}"


def _owner(batch: MetadataBatch, row: int) -> int:
    loc = batch.guarded["query_start_loc"].view[: batch.num_reqs + 1].cpu()
    return int(torch.searchsorted(loc, torch.tensor([row], dtype=loc.dtype), right=True)) - 1


def _owed(batch: MetadataBatch, row: int) -> str:
    """What the contract says of a row."""
    if row >= batch.num_padded_tokens or row < 0:
        if not batch.num_padded_tokens:
            return f"there are no rows to fill, so row {row} must stay as it is"
        return f"row {row} lies outside the {counted(batch.num_padded_tokens, 'padded row')} and must stay as it is"
    if row >= batch.num_actual_tokens:
        return f"row {row} is padding and must be 0"
    owner = _owner(batch, row)
    first = int(batch.guarded["query_start_loc"].view[owner])
    return f"row {row} belongs to request {owner}, which has {_span(batch, owner)}, so its first row is {first}"


def _found(batch: MetadataBatch, name: str, row: int, got: int) -> str:
    """What the wrong entry is, in words that end in a semicolon; nothing where that is not known."""
    if not 0 <= row < batch.num_padded_tokens:
        return "it was written; "
    guarded = batch.guarded[name]
    if got == int(guarded.before[row + guarded.view.storage_offset()]):
        return "it was not written: it holds what the buffer held before; "
    if row >= batch.num_actual_tokens:
        return "it was filled as if it were an actual row; "
    owner, loc = _owner(batch, row), batch.guarded["query_start_loc"].view[: batch.num_reqs + 1].cpu()
    if name == "query_start_out":
        owners = (loc[:-1] == got).nonzero().flatten().tolist()
        return f"{got} is the first row of request {owners[-1]}; " if owners else f"no request begins at row {got}; "
    if not 0 <= got < batch.num_reqs:
        return f"there is no request {got}; "
    if loc[got] == loc[got + 1]:
        return f"request {got}, which is empty, was taken as owner; "
    many = f"{plural(abs(owner - got), 'request')} too {'early' if got < owner else 'late'}"
    return f"request {got}, which has {_span(batch, got)}, was taken as owner, {many}; "


@invariant("metadata", operator="sconv_seq_metadata", needs={"padded rows", "slack"}, edges=metadata_edges)
def refuses(ops: Any, case: Metadata) -> None:
    """Too small a padded count or buffer raises ValueError before anything is written; exact sizes are accepted."""
    __tracebackhide__ = True
    batch = build_metadata(case, ops.home)
    actual, padded = batch.num_actual_tokens, batch.num_padded_tokens
    buffers = [batch.guarded[name].view for name in ("query_start_loc", "seq_idx_out", "query_start_out")]
    loc, owners, firsts = buffers
    fits_owners, fits_firsts = owners[:padded], firsts[:padded]
    refused = {
        "num_padded_tokens below num_actual_tokens": (owners, firsts, actual - 1),
        "a seq_idx_out one row too small": (owners[: padded - 1], fits_firsts, padded),
        "a query_start_out one row too small": (fits_owners, firsts[: padded - 1], padded),
    }
    for what, (seq_idx_out, query_start_out, count) in refused.items():
        if count < 0 or padded == 0:
            continue  # no smaller count or buffer exists
        error = ops.refusal("sconv_seq_metadata", loc, batch.num_reqs, actual, seq_idx_out, query_start_out, count)
        if not isinstance(error, ValueError):
            found = "was accepted" if error is None else f"raised {class_name(type(error))}"
            raise Violation(
                "metadata.refuses",
                "sconv_seq_metadata",
                got=f"given {what} {found}, but should raise ValueError",
                said="" if error is None else one_line(error),
                let=_sizes(actual, padded, seq_idx_out, query_start_out, count),
                then="the padded rows must cover the actual ones, and each buffer the padded ones",
                case=case,
            )
        for guarded in batch.guarded.values():
            if len(guarded.changed):
                raise Violation(
                    "metadata.refuses",
                    guarded.name,
                    got=f"was written although {what} was refused",
                    let=_sizes(actual, padded, seq_idx_out, query_start_out, count),
                    then="a call that is refused writes nothing",
                    but=f"{_count(len(guarded.changed))} of it changed",
                    case=case,
                )
    if padded:
        ops.sconv_seq_metadata(loc, batch.num_reqs, actual, fits_owners, fits_firsts, padded)


@invariant("metadata", operator="sconv_seq_metadata", needs={"two requests", "padded rows"}, edges=metadata_edges)
def process_frame(ops: Any, case: Metadata) -> None:
    """A call leaves the process as it was: torch's defaults and modes, random numbers, environment and folder."""
    __tracebackhide__ = True
    call(ops, build_metadata(case, ops.home))  # every call is watched


def _sizes(actual: int, padded: int, seq_idx_out: torch.Tensor, query_start_out: torch.Tensor, count: int) -> str:
    """The sizes of a call that must be refused, in words."""
    given = f"num_padded_tokens = {count}, seq_idx_out[{len(seq_idx_out)}], query_start_out[{len(query_start_out)}]"
    return f"{with_padding(actual, padded)}; the call has {given}"
