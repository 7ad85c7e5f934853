"""Keys under which conftest, plugins and tests find one another's things, so that none has to import the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from properties.judge import Judge
from properties.verdict import Violation

JUDGE = pytest.StashKey[Judge]()  # of the run
FOUND = pytest.StashKey[Violation]()  # of a test: what it failed for


def path_of(config: pytest.Config, given: str) -> Path:
    """A path that an option names from the folder that pytest was called in, as others can be told it."""
    return (config.invocation_params.dir / given).resolve()
