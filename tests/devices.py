"""`-n auto`, and the GPU of each of xdist's workers: in its environment before CUDA starts there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

from properties import workers
from properties.engines import gpus


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """As many as there is room for; the variable of xdist's own goes first."""
    if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    return workers.room(workers.host(gpus(config.getoption("--engine"))))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[Any]) -> None:
    """Pins each worker of this host to one GPU; xdist starts the one that replaces it from the same specification."""
    here = [spec for spec in specs if spec.popen]
    seen = workers.entries(os.environ.get(workers.VISIBLE), len(gpus(config.getoption("--engine"))))
    for spec, pin in zip(here, workers.pins(len(here), seen), strict=True):
        if pin is not None:
            spec.env[workers.VISIBLE] = pin
