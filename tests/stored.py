"""Cases that earlier runs have stored: tried first, and shrunk anew, since the kernel may have changed."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis.database import ExampleDatabase

SECONDARY = b".secondary"  # what Hypothesis puts behind a test's key for cases that it has not shrunk to the end


class Stored(ExampleDatabase):
    """A database of which no case counts as shrunk: those that are, Hypothesis would tell as they are.

    The kernel may be another one by now, or the time for shrinking was over when its case was stored.
    """

    def __init__(self, inner: ExampleDatabase) -> None:
        super().__init__()
        self.inner = inner

    def fetch(self, key: bytes) -> Iterable[bytes]:
        """The smallest two of a test's cases, the fewest that Hypothesis tries all of, as ones not shrunk yet."""
        if not key.endswith(SECONDARY):
            return []
        found = {*self.inner.fetch(key), *self.inner.fetch(key.removesuffix(SECONDARY))}
        return sorted(found, key=lambda case: (len(case), case))[:2]

    def save(self, key: bytes, value: bytes) -> None:
        """Stores a case."""
        self.inner.save(key, value)

    def delete(self, key: bytes, value: bytes) -> None:
        """Forgets a case."""
        self.inner.delete(key, value)
