"""Numbers in words: counts with their nouns in singular or plural, and what of a whole they are."""

from __future__ import annotations

from collections.abc import Collection


def counted(count: int, noun: str, many: str = "") -> str:
    """`0 rows`, `1 row`, `2,000 rows`; `many` is the plural of a noun that takes more than an s."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def plural(count: int, noun: str) -> str:
    """`1 block`, `2 blocks`, `no blocks`."""
    return counted(count, noun) if count else f"no {noun}s"


def plural_of(noun: str, ones: Collection[object]) -> str:
    """`shard 1/8`, `shards 1/8, 2/8`."""
    return f"{noun}{'s' * (len(ones) != 1)} {', '.join(map(str, ones))}"


def rows_of(rows: int, requests: int) -> str:
    """`2 rows of 1 request`; without requests whose they are, the rows alone."""
    return f"{plural(rows, 'row')} of {plural(requests, 'request')}" if requests else plural(rows, "row")


def with_padding(rows: int, padded: int) -> str:
    """What a batch is padded to: `2 rows, padded to 5`, `1 row without padding`, `no rows`."""
    if padded > rows:
        return f"{plural(rows, 'row')}, padded to {padded:,}"
    return f"{plural(rows, 'row')} without padding" if rows else "no rows"


def times(count: int) -> str:
    """`once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def differ(count: int, total: int, noun: str, of: str = "") -> str:
    """`1 of 2 elements differs`, `2 of 2 elements of the cache differ`."""
    return f"{count:,} of {plural(total, noun)}{of} differ{'s' if count == 1 else ''}"


def have(count: int, total: int, noun: str) -> str:
    """Who of a whole has something: `1 of 2 rows has`, `2 of 2 rows have`, `the only row has`, `no row has`."""
    if not count:
        return f"no {noun} has"
    if total == 1:
        return f"the only {noun} has"
    return f"{count:,} of {counted(total, noun)} {'has' if count == 1 else 'have'}"
