"""The option --shard: a part of a run that draws cases of its own (docs/machines.md)."""

from __future__ import annotations

import pytest
from hypothesis import settings

from properties.shards import Shard
from tests.keys import ELSEWHERE, SEED, SHARD


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    words = "part I of N of a run: cases of its own, and its part of the pinned cases and proofs"
    parser.getgroup("judge").addoption("--shard", metavar="I/N", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Reads the option; what is no shard ends the run in one line."""
    if (given := config.getoption("--shard")) is None:
        return
    try:
        config.stash[SHARD] = Shard.read(given)
    except ValueError as error:
        raise pytest.UsageError(f"--shard {error}") from None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tells a test its seed, and the shard that judges its pinned cases or its proof where that is another one."""
    given, shard = item.config.getoption("--hypothesis-seed"), item.config.stash.get(SHARD, None)
    if shard is None:
        if given is not None:  # which Hypothesis passes over where it draws the same in every run, as under CI
            item.stash[SEED] = _number(given)
        return
    if given is not None or settings().derandomize:
        item.stash[SEED] = shard.seed(item.nodeid, given or "")
    if (owner := shard.owner(item.nodeid)) != shard:
        item.stash[ELSEWHERE] = str(owner)


def _number(given: str) -> int | str:
    """A seed as Hypothesis reads it from its option: a number where it is one."""
    try:
        return int(given)
    except ValueError:
        return given


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Says which part of a run this is."""
    if (shard := config.stash.get(SHARD, None)) is None:
        return []
    divided = "" if shard.count == 1 else f"; each pinned case and each proof is judged in one of the {shard.count}"
    return [f"shard: {shard}, with cases of its own{divided}"]
