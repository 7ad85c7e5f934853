"""Text: head, loading, helpers, calls and ending of a script, put together."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from properties.candidate import Candidate
from properties.reproducer import parts
from properties.reproducer.ending import Ending
from properties.reproducer.events import Event, Version
from properties.reproducer.literals import SHORT
from properties.reproducer.script import Body
from properties.verdict import Violation

ROOT = Path(__file__).parents[2]
# What a script may need.
MODULES = ("importlib.util", "mmap", "os", "random", "shlex", "sys", "types"), ("numpy", "torch")


@dataclass(frozen=True)
class Subject:
    """What a script is about: the candidate, the engine in words, the violation, and the script's own name."""

    candidate: Candidate
    engine: str
    violation: Violation
    name: str
    shown: str = ""  # what the script itself printed, and how that is other than the violation


def text(subject: Subject, events: Sequence[Event], versions: Sequence[Version], end: Ending, keep: Mapping) -> str:
    """The whole script; `keep` says which elements must be as they were. Raises Unwritable."""
    body = Body(events, versions, end.asked, keep)
    body.write()
    body.lines[body.last :] = end.around(body.lines[body.last :])
    told = end.lines(body)
    helpers = end.helpers(body)
    pieces = [_load(subject)]
    if "graph" in body.needs:
        pieces.append(parts.NO_GRAPHS)
    if subject.violation.configuration:
        pieces.append(parts.CONFIGURED.format(words=_configuration(subject.violation.configuration)))
    lines = "\n".join([*body.lines, *told])
    dtypes = {name: dtype for dtype, name in SHORT.items() if re.search(rf"\b{name}\b", lines)}
    pieces.append(f"{', '.join(dtypes)} = {', '.join(map(str, dtypes.values()))}\n")
    body.needs |= {"put"} if re.search(r"\bput\(", lines) else set()
    body.needs -= {"laid"} if "strided" in body.needs else set()
    for need, piece in (
        ("strided", parts.STRIDED),
        ("laid", parts.LAID),
        ("put", parts.PUT),
        ("far", parts.FAR),
        ("memory", parts.MEMORY),
        ("graph", parts.GRAPH),
    ):
        if need in body.needs:
            pieces.append(f"\n{piece}")
    if helpers:
        pieces.append(f"\n{helpers}")
    code = "".join(pieces) + f"\n\n{lines}\n"
    return _head(subject) + _imports(code) + code


def _head(subject: Subject) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "triton"))
    seen = f"Python {platform.python_version()}, {versions}, {subject.engine}"
    return parts.HEAD.format(
        words=inside(str(subject.violation)),
        shown=inside(subject.shown),
        versions=inside(seen),
        title=inside(subject.candidate.title),
        name=subject.name,
        root=inside(str(ROOT)),
    )


def inside(words: str) -> str:
    """Words as they read in a docstring."""
    return words.replace("\\", "\\\\").replace('"""', "'''")


def _imports(code: str) -> str:
    blocks = [[name for name in block if re.search(rf"(?<![\w.]){name}\.", code)] for block in MODULES]
    return "".join("\n" + "".join(f"import {name}\n" for name in block) for block in blocks)


def _needs_vllm(candidate: Candidate) -> bool:
    return candidate.path is not None and candidate.path.is_file() and "vllm" in candidate.path.read_text()


def _load(subject: Subject) -> str:
    candidate = subject.candidate
    shim = parts.SHIM if _needs_vllm(candidate) else ""
    home = ""
    if candidate.path is not None and not candidate.name.endswith(".py"):  # a module's own imports need its home
        depth = candidate.name.count(".") + (candidate.path.name == "__init__.py")
        home = parts.PATH.format(root=str(candidate.path.parents[depth]))
    about = subject.violation.property_name
    return parts.LOAD.format(property=about, target=str(candidate.path or candidate.target), shim=shim, path=home)


def _configuration(words: str) -> set[str]:
    """The configuration in the words of a violation, as `str` spells it."""
    inside = words.split("configuration ")[1].split(", one of")[0]
    return {part.replace("=", ": ", 1) for part in inside.split(", ")}
