"""The environment of a run that a test starts."""

from __future__ import annotations

import os


def environment(**more: str) -> dict[str, str]:
    """This process's without what says that it is a worker of xdist's: the run is one of its own."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST_")}, **more}
