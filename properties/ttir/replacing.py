"""Methods of torch's classes, replaced for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

Method = Callable[..., Any]


@contextmanager
def replaced(kind: type, names: Iterable[str], instead: Callable[[str, Method], Method]) -> Iterator[None]:
    """Puts `instead(name, method)` in place of methods of a class, inherited ones too, and puts them back."""
    own = {name: vars(kind).get(name) for name in names}
    for name in own:
        method = getattr(kind, name)
        setattr(kind, name, wraps(method)(instead(name, method)))
    try:
        yield
    finally:
        for name, before in own.items():
            if before is None:
                delattr(kind, name)  # it was inherited
            else:
                setattr(kind, name, before)
