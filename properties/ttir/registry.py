"""Which operations the machine knows: name to binder, filled by the modules of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .binding import Binding
    from .program import Operation

Step = Callable[[Any], None]
Binder = Callable[["Operation", "Binding"], "Step | None"]

BINDERS: dict[str, Binder] = {}
NOTES: dict[str, str] = {}


def operation(*names: str, note: str = "") -> Callable[[Binder], Binder]:
    """Registers a binder for operations; `note` says in docs/machine.md what is special about them."""

    def register(binder: Binder) -> Binder:
        for name in names:
            BINDERS[name] = binder
            NOTES[name] = note
        return binder

    return register
