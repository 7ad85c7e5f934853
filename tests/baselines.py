"""The option --baseline, and its tests, which are collected only where it is given."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    words = "another kernel that the candidate must equal, bit for bit or within the derived bound"
    parser.getgroup("judge").addoption("--baseline", metavar="PATH|MODULE", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Says that the group needs the option."""
    if config.getoption("-m") == "baseline" and not config.getoption("--baseline"):
        raise pytest.UsageError("-m baseline needs --baseline PATH|MODULE, the kernel to compare with")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves the comparison out of a run that has nothing to compare with."""
    return True if collection_path.name == "test_baseline.py" and not config.getoption("--baseline") else None
