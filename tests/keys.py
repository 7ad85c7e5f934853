"""Keys under which conftest, plugins and tests find one another's things, so that none has to import the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from properties.judge import Judge
from properties.shards import Shard
from properties.verdict import Violation

JUDGE = pytest.StashKey[Judge]()  # of the run
SHARD = pytest.StashKey[Shard]()  # of the run, where it is a part of one
DATABASE = pytest.StashKey[str]()  # of the run: where it stores cases, to print
FOUND = pytest.StashKey[Violation]()  # of a test: what it failed for
SEED = pytest.StashKey["int | str"]()  # of a test: what its draws begin with, where that is fixed
FILED = pytest.StashKey[str]()  # of a test: the kernel's name in a database of several machines
ELSEWHERE = pytest.StashKey[str]()  # of a test: the shard that judges its pinned cases or its proof, if not this one


def path_of(config: pytest.Config, given: str) -> Path:
    """A path that an option names from the folder that pytest was called in, as others can be told it."""
    return (config.invocation_params.dir / given).resolve()
