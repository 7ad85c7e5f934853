"""One run in parts: which part this is, the seeds of its own, and which part judges what is judged once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, order=True)
class Shard:
    """Part `index` of `count`, counted from 1."""

    index: int
    count: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """The shard that `i/n` names. Raises ValueError with one line where it names none."""
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise ValueError(f"{text!r} is no shard; allowed: I/N with 1 <= I <= N, such as 3/8")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def seed(self, test: str, given: str) -> int:
        """The seed of one test: another in each shard, in each count of shards and for each seed that was given."""
        return int.from_bytes(sha256(f"{self} {given} {test}".encode()).digest()[:16], "big")

    def owner(self, test: str) -> Shard:
        """The shard that judges what is judged once of a test: its pinned cases, or its proof."""
        number = int.from_bytes(sha256(test.encode()).digest()[:8], "big")
        return Shard(1 + number % self.count, self.count)
