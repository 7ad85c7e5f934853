"""What surrounds all of a call: its journal, and the end of a process whose device it broke."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from properties import journal
from properties.verdict import Violation


@contextmanager
def contained(
    called: str, is_lost: Callable[[], bool], told: Callable[[BaseException], BaseException]
) -> Iterator[None]:
    """Notes a call; `told` makes a violation of what a device that `is_lost` says only as the call is waited for.

    A worker ends here, since each further call of its would fail; its controller tells why (docs/workers.md).
    """
    __tracebackhide__ = True
    with journal.calling(called):
        try:
            yield
        except Exception as error:
            if not is_lost():
                raise
            found = error if isinstance(error, Violation) else told(error)
            journal.leave(found.outcome if isinstance(found, Violation) else str(found))
            raise found from error
