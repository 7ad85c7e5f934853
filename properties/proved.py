"""Which properties are proved, beside being judged on cases, and by which obligations."""

from __future__ import annotations

# What the obligations imply at a geometry, with floating point as uninterpreted operations: a row's output is the
# contract's expression of its taps alone, so it depends on nothing else, and nothing else is written.
PROVED_BY: dict[str, tuple[str, ...]] = {
    "batch.block_names": ("taps",),
    "batch.neighbours": ("taps",),
    "batch.rows_without_slots": ("taps",),
    "batch.shared_prefix": ("taps",),
    "batch.table_and_pages": ("taps",),
    "cache.read_frame": ("taps",),
    "cache.stores_inputs": ("taps", "conflicts"),
    "cache.table_frame": ("taps",),
    "cache.write_frame": ("taps", "accesses"),
    "hazards.fused_sconv": ("accesses", "conflicts", "wraps"),
    "hazards.sconv_seq_metadata": ("metadata",),
    "metadata.searchsorted": ("metadata",),
    "values.one_hot_taps": ("taps",),
}


def proved_by(name: str) -> str:
    """The obligations that a property follows from, as the catalogue writes them."""
    if name.startswith("proof."):
        return "proved"
    obligations = PROVED_BY.get(name)
    return "tested; proved by " + ", ".join(f"`{one}`" for one in obligations) if obligations else "tested"
