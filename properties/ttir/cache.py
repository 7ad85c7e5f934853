"""Parsed programs by specialisation: in memory, and on disk between processes."""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from functools import lru_cache
from pathlib import Path

from . import frontend
from .parse import parse
from .program import Program

# the files that decide what is stored; a change to any of them leaves old entries unread
SOURCES = ("frontend.py", "parse.py", "parse_regions.py", "program.py", "source_locations.py", "type_text.py")

_programs: dict[tuple, Program] = {}
_compiled = 0


def specialisations() -> int:
    """Returns how many distinct specialisations this process has met."""
    return len(_programs)


def compiled() -> int:
    """Returns how many of them Triton compiled here; the others came from the disk cache."""
    return _compiled


def program(bound: frontend.Bound) -> Program:
    """Returns the parsed program of a bound launch, from memory, from disk or from Triton."""
    found = _programs.get(bound.key)
    if found is None:
        found = _programs[bound.key] = _from_disk(bound)
    return found


def directory() -> Path:
    """Returns the folder of the disk cache: TTIR_CACHE_DIR, else a folder of the user's cache."""
    configured = os.environ.get("TTIR_CACHE_DIR")
    if configured:
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ttir-machine"


@lru_cache(maxsize=1)
def _format() -> str:
    folder = Path(__file__).parent
    return hashlib.sha256(b"".join((folder / name).read_bytes() for name in SOURCES)).hexdigest()


def _from_disk(bound: frontend.Bound) -> Program:
    global _compiled
    key = repr((_format(), frontend.version(), frontend.TARGET, bound.key))
    path = directory() / f"{hashlib.sha256(key.encode()).hexdigest()}.pickle"
    try:
        data = path.read_bytes()
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            raise ValueError(f"{path} is damaged")
        stored_key, stored = pickle.loads(data[32:])
        if stored_key == key:
            return stored
    except Exception:  # absent, damaged or from another version: compiled anew below
        pass
    parsed = parse(bound.compile())
    _compiled += 1
    data = pickle.dumps((key, parsed), protocol=pickle.HIGHEST_PROTOCOL)
    _write(path, hashlib.sha256(data).digest() + data)
    return parsed


def _write(path: Path, data: bytes) -> None:
    """Writes atomically, so that parallel workers never read half a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(data)
        os.replace(file.name, path)
    except OSError:
        pass  # a read-only or full disk costs time, not correctness
