"""Configurations of autotuned kernels: which were run, and which one a violation belongs to."""

from __future__ import annotations

from properties.number_words import counted

# Launches by kernel and configuration; 0 for one that prune hooks left but nobody drew, -1 for one always pruned away.
LAUNCHES: dict[str, dict[str, int]] = {}
PRUNED = -1


class Watch:
    """Remembers in which configurations the kernels of a case ran, and counts them."""

    def __init__(self) -> None:
        self.choice = 0  # the number of the configuration, counted over those that prune hooks leave
        self.ran: dict[str, str] = {}

    def seen(self, kernel: str, every: list[str], left: list[str], chosen: str) -> None:
        """Counts a launch; a kernel with one configuration is as good as not autotuned."""
        if len(every) == 1:
            return
        counts = LAUNCHES.setdefault(kernel, {})
        for one in every:
            counts.setdefault(one, PRUNED)
        for one in left:
            counts[one] = max(0, counts[one])
        counts[chosen] += 1
        self.ran[kernel] = f"{kernel} in the configuration {chosen}, one of {len(every)}"

    @property
    def words(self) -> str:
        """In which configurations the autotuned kernels ran, empty without any."""
        return "; ".join(self.ran.values())


def merge(other: dict[str, dict[str, int]], into: dict[str, dict[str, int]] | None = None) -> None:
    """Adds another process's launches to this one's, or to those of others."""
    total = LAUNCHES if into is None else into
    for kernel, counts in other.items():
        mine = total.setdefault(kernel, {})
        for one, count in counts.items():
            both = mine.get(one, PRUNED), count
            mine[one] = PRUNED if both == (PRUNED, PRUNED) else sum(max(0, part) for part in both)


def missed() -> list[str]:
    """Configurations that prune hooks left at least once and that never ran: a verdict says nothing of them."""
    return [
        f"{kernel}: {one}" for kernel, counts in sorted(LAUNCHES.items()) for one, count in counts.items() if not count
    ]


def in_words(launches: int) -> str:
    """How often a configuration ran."""
    known = {0: "never run: not judged", PRUNED: "always pruned away"}
    return known.get(launches, counted(launches, "launch", "launches"))


def lines() -> list[str]:
    """One line for each configuration of each autotuned kernel."""
    told = []
    for kernel, counts in sorted(LAUNCHES.items()):
        for one, count in counts.items():
            told.append(f"autotuned  {kernel}: {one}: {in_words(count)}")
    return told
