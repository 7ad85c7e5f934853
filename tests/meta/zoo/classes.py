"""The classes of real bugs, numbered as in the field notes, and what else of the judge's tests has them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BugClass:
    """What goes wrong in a class, and the public report of it."""

    title: str
    report: str = "not known here"  # the notes say that there is one, and give no link


CLASSES: dict[int, BugClass] = {
    1: BugClass("pages are counted in tokens of another size than they have"),
    2: BugClass("the window is lost, or another one taken, between the chunks of a prompt"),
    3: BugClass("a shared block is written, as rows are stored where their window was read"),
    4: BugClass("drafts that were rejected stay in the window"),
    5: BugClass("rows of padding are stored, or their output is not"),
    6: BugClass("a graph that is replayed goes by what it was captured with"),
    7: BugClass("a warm-up leaves something in a block that a request gets later"),
    8: BugClass("padding follows table rows of requests that have ended"),
    9: BugClass("old NaNs are read, and a mask that multiplies does not stop them"),
    10: BugClass("an offset is computed in 32 bits"),
    11: BugClass("what one program stores is read by another one of the same launch"),
    12: BugClass("two programs write the same element"),
    13: BugClass("the taps of the weight are taken in the other order"),
    14: BugClass("the cache gets results, not inputs"),
    15: BugClass("a guard compares the wrong way round"),
    16: BugClass("the search for a row's request ends too early, or at a request without rows"),
    17: BugClass("a stride or a divisor is taken for granted"),
    18: BugClass("sums are cut to the narrower format"),
    19: BugClass("an axis of the grid holds fewer programs than there are tiles"),
    20: BugClass("one size, such as 1 or a multiple of 16, goes through other code"),
}
