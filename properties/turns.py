"""One process at a time holds gigabytes of a GPU that several processes share."""

from __future__ import annotations

import fcntl
import getpass
import tempfile
from pathlib import Path
from typing import IO

import torch

_HELD: list[IO[str]] = []


def take(device: torch.device) -> None:
    """Waits until no other process of this user holds gigabytes of the device; lasts until `over`."""
    if not _HELD:
        name = f"sconv-judge-{getpass.getuser()}-{torch.cuda.get_device_properties(device).uuid}.lock"
        lock = (Path(tempfile.gettempdir()) / name).open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        _HELD.append(lock)
    torch.cuda.empty_cache()


def held() -> bool:
    """Whether this process holds the turn."""
    return bool(_HELD)


def over() -> None:
    """Gives the gigabytes back and lets the next process go on, where this one held any."""
    if _HELD:
        torch.cuda.empty_cache()
        _HELD.pop().close()
