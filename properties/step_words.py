"""A forward of a server in words: what runs in it, and what an element of its memory must hold afterwards."""

from __future__ import annotations

from collections.abc import Mapping

from properties.explain import named_blocks
from properties.number_words import plural
from properties.serving import Server


def about(server: Server) -> str:
    """What the last forward runs: its sequences with positions and blocks, and padding."""
    filled = server.log[-1]
    parts, rows = [], 0
    for span in filled.spans:
        rows += span.count
        blocks = named_blocks(span.blocks)
        where = f"position {span.start}" + (f" to {span.start + span.count - 1}" if span.count != 1 else "")
        dummy = plural(span.count, "row") + " of a dummy request"
        parts.append(f"sequence {span.sequence} {where} ({blocks})" if filled.has_slots else dummy)
    if len(filled.x) > rows:
        parts.append(f"{plural(len(filled.x) - rows, 'row')} of padding")
    return f"this step runs {', '.join(parts) or 'nothing'}"


def owed(server: Server, name: str, where: Mapping[str, object]) -> str:
    """What the contract says of an element of the cache or of a buffer after the last forward."""
    if name in ("seq_idx", "query_start") and isinstance(row := where.get("element"), int):
        return _owner(server, row)
    if name != "cache":
        return f"{name} is an input, which nobody writes"
    if "d" not in where:
        return "only elements of the cache that belong to the slot of a row may change"
    slot = int(str(where["block"])) * server.pool.N + int(str(where["offset"]))
    slots = server.guarded["slot_mapping"].view[: len(server.log[-1].x)]
    rows = (slots == slot).nonzero().flatten().tolist()
    if rows:
        return f"row {rows[0]} has slot {slot}, so its input is stored there, and nothing else of the block changes"
    return f"no row has slot {slot}, so what is there stays"


def _owner(server: Server, row: int) -> str:
    """Whose a row of the last forward's metadata is."""
    filled, first = server.log[-1], 0
    for request, span in enumerate(filled.spans):
        if first <= row < first + span.count:
            return f"row {row} is of request {request} of this step, whose first row is {first}"
        first += span.count
    T = len(filled.x)
    return f"row {row} is padding and must be 0" if row < T else f"only the first {T} rows are written"
