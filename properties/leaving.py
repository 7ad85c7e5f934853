"""Calls that would end the process at once, raised instead: code 0 would read as if all had held."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

NAMES = ("_exit", "execv", "execve")  # of os; its other exec functions call these


class Leaving(BaseException):
    """A call that would have ended the process; the message is the call."""


@contextmanager
def staying() -> Iterator[None]:
    """Makes such calls raise Leaving, in this thread of this process: what it forks may end as it likes."""
    here = os.getpid(), threading.get_ident()
    real = {name: getattr(os, name) for name in NAMES}
    for name, function in real.items():
        setattr(os, name, _instead(name, function, here))
    try:
        yield
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def _instead(name: str, function: Callable[..., NoReturn], here: tuple[int, int]) -> Callable[..., NoReturn]:
    def leave(*arguments: Any, **named: Any) -> NoReturn:
        if (os.getpid(), threading.get_ident()) != here:
            function(*arguments, **named)
        given = [*map(repr, arguments), *(f"{key}={value!r}" for key, value in named.items())]
        raise Leaving(f"os.{name}({', '.join(given)})")

    return leave
