"""Keys under which conftest, plugins and tests find one another's things, so that none has to import the other."""

from __future__ import annotations

import pytest

from properties.judge import Judge
from properties.verdict import Violation

JUDGE = pytest.StashKey[Judge]()  # of the run
FOUND = pytest.StashKey[Violation]()  # of a test: what it failed for
