"""Engines: how a candidate's launches are run, and what is observed while they run."""

from __future__ import annotations

from properties.engines.base import BadEngine, Engine
from properties.engines.cuda import Cuda
from properties.engines.interpreter import Interpreter
from properties.engines.ttir import Ttir

ENGINES: dict[str, type[Engine]] = {"cuda": Cuda, "ttir": Ttir, "interpreter": Interpreter}


def choose(name: str) -> Engine:
    """The engine of that name, ready to run; `auto` is `cuda` where a GPU is usable, else `ttir`. Raises BadEngine."""
    name = _meant(name)
    if name not in ENGINES:
        raise BadEngine(f"engine {name!r} is unknown; allowed: auto, {', '.join(ENGINES)}")
    reason = ENGINES[name].unusable()
    if reason:
        raise BadEngine(f"engine {name!r} cannot run here: {reason}; allowed here: auto, ttir, interpreter")
    return ENGINES[name]()


def gpus(name: str) -> tuple[float, ...]:
    """The memory of each GPU that the engine of that name runs on, in GiB; none where it runs on none."""
    return Cuda.memories() if _meant(name) == "cuda" else ()


def _meant(name: str) -> str:
    if name != "auto":
        return name
    return "cuda" if Cuda.unusable() is None else "ttir"


__all__ = ["ENGINES", "BadEngine", "Engine", "choose", "gpus"]
