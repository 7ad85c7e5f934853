"""The pool: physical blocks handed out, shared, let go and handed out again, as a cache manager does."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Pages:
    """One sequence: how many positions it has in the cache, and the physical block of each logical one.

    A block that was let go is None.
    """

    cached: int = 0
    blocks: list[int | None] = field(default_factory=list)


class Pool:
    """The blocks of a cache, of `N` tokens each; what was freed last is handed out first, with what it holds."""

    def __init__(self, num_blocks: int, N: int) -> None:
        self.N = N
        self.free = list(range(num_blocks))  # the next one stands last
        self.holders = [0] * num_blocks

    def missing(self, pages: Pages, positions: int) -> int:
        """How many blocks a sequence lacks to hold that many positions."""
        return max(0, -(-positions // self.N) - len(pages.blocks))

    def reserve(self, pages: Pages, positions: int) -> list[int]:
        """Gives a sequence blocks for that many positions and returns them. Raises IndexError when none is free."""
        taken = [self.take() for _ in range(self.missing(pages, positions))]
        pages.blocks += taken
        return taken

    def take(self) -> int:
        """Hands out one block. Raises IndexError when none is free."""
        block = self.free.pop()
        self.holders[block] = 1
        return block

    def share(self, blocks: list[int | None]) -> list[int | None]:
        """The same blocks, held by one sequence more."""
        for block in blocks:
            if block is not None:
                self.holders[block] += 1
        return list(blocks)

    def give_back(self, blocks: list[int | None], *, is_last: bool = False) -> None:
        """Takes blocks from a sequence; those that nobody else holds are free, and handed out last if `is_last`."""
        freed = []
        for block in reversed(blocks):
            if block is not None:
                self.holders[block] -= 1
                freed += [block] if not self.holders[block] else []
        self.free = freed[::-1] + self.free if is_last else self.free + freed

    def release(self, pages: Pages, *, is_last: bool = False) -> None:
        """Takes all blocks of a sequence."""
        self.give_back(pages.blocks, is_last=is_last)
        pages.blocks, pages.cached = [], 0

    def behind(self, pages: Pages, window: int) -> list[int]:
        """The blocks of a sequence that lie wholly before its last `window` cached positions."""
        whole = max(0, pages.cached - window) // self.N
        return [block for block in pages.blocks[:whole] if block is not None]

    def let_go(self, pages: Pages, window: int) -> None:
        """Takes the blocks that lie wholly before a sequence's last `window` cached positions."""
        gone = self.behind(pages, window)
        self.give_back(list(gone))
        pages.blocks = [None if block in gone else block for block in pages.blocks]
