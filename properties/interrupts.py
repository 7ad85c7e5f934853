"""The user's Ctrl-C, told from a KeyboardInterrupt that a candidate raises itself."""

from __future__ import annotations

import signal
import threading
from typing import Any


class _Counting:
    """Python's own handler of SIGINT, which raises KeyboardInterrupt; it remembers that it was called."""

    calls = 0

    def __call__(self, number: int, frame: Any) -> None:
        _Counting.calls += 1
        signal.default_int_handler(number, frame)


_handler = _Counting()


def watch() -> None:
    """Remembers every Ctrl-C from now on, where Python's own handler would get it."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _handler)


def is_of_the_user(error: BaseException) -> bool:
    """Whether an exception is the user's Ctrl-C, which ends the run; nothing that a candidate raises may."""
    if not isinstance(error, KeyboardInterrupt):
        return False
    if signal.getsignal(signal.SIGINT) is _handler:
        return _Counting.calls > 0
    return signal.getsignal(signal.SIGINT) is not signal.SIG_IGN  # of another handler nothing is known
