"""Running mutants: each in a forked process of its own, with a time limit, several at once."""

from __future__ import annotations

import importlib
import json
import os
import runpy
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from properties.mutation.source import Mutant

# What every process would import first; forked children find it there. The interpreter's own cost is paid once.
PRELOADED = (
    "torch", "triton", "hypothesis", "pytest", "numpy", "properties.judge", "properties.catalogue",
    "hypothesis.stateful", "torch._inductor.config", "triton.compiler.code_generator",
    "triton.backends.nvidia.compiler",
)  # fmt: skip  # a list of names
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Target:
    """What is mutated: a file, or a package of which some files are kernels."""

    path: Path

    @property
    def files(self) -> list[Path]:
        """The kernel files: those that define a `@triton.jit` function."""
        found = sorted(self.path.glob("*.py")) if self.path.is_dir() else [self.path]
        return [one for one in found if "jit" in one.read_text()]

    def write(self, folder: Path, mutant: Mutant | None) -> str:
        """Writes a copy into a folder, with the mutant applied; returns what `--candidate` takes."""
        copy = folder / self.path.name
        if self.path.is_dir():
            shutil.copytree(self.path, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(self.path, copy)
        if mutant is not None:
            file = copy / mutant.file if self.path.is_dir() else copy
            file.write_text(mutant.apply(file.read_text()))
        return self.path.name if self.path.is_dir() else str(copy)


@dataclass(frozen=True)
class Plan:
    """How mutants are judged."""

    target: Target
    profile: str = "pr"
    engine: str = "ttir"
    workers: int = 2
    limit: float = 900.0  # seconds for a whole run of the judge: a survivor takes all of it
    test_limit: float = 120.0  # seconds for one test, which takes a tenth of it at most
    shrink: float = 1.0  # seconds for shrinking
    is_complete: bool = False  # whether a run goes on after the first violation
    # a proof that fails is confirmed by a case of another property
    tests: tuple[str, ...] = ("tests", "--ignore=tests/meta", "--ignore=tests/test_proofs.py")
    seed: int = 0


@dataclass
class Running:
    """A mutant under judgement, in process `pid`."""

    mutant: Mutant | None
    pid: int
    folder: Path
    started: float = field(default_factory=time.monotonic)

    def seen(self) -> dict[str, Any]:
        """What its process has written so far."""
        try:
            found: dict[str, Any] = json.loads((self.folder / "result.json").read_text())
            return found
        except (OSError, ValueError):
            return {}


def preload() -> None:
    """Imports what every run needs, once."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in PRELOADED:
        importlib.import_module(name)
    sys.modules["torch"].set_num_threads(1)
    sys.modules["properties.catalogue"].entries()
    with suppress(Exception), sys.modules["properties.engines"].choose("ttir").running([]):
        pass  # what torch imports at the first use of its deterministic mode


def without_findings(plan: Plan) -> tuple[Plan, list[str]]:
    """The plan without the tests that the file as it is fails, and those tests: they can tell no mutant from it."""
    (control,) = judged(replace(plan, is_complete=True), [None])
    red = sorted({nodeid.split("[")[0] for nodeid in control["red"]})
    return replace(plan, tests=(*plan.tests, *(f"--deselect={one}" for one in red))), red


def judged(plan: Plan, mutants: Sequence[Mutant | None]) -> Iterator[dict[str, Any]]:
    """Judges mutants (None: the file as it is) in parallel; yields a result for each as it comes."""
    waiting = list(reversed(mutants))
    running: list[Running] = []
    with tempfile.TemporaryDirectory(prefix="mutation-") as scratch:
        try:
            while waiting or running:
                while waiting and len(running) < plan.workers:
                    running.append(_start(plan, waiting.pop(), Path(scratch)))
                time.sleep(0.02)
                for one in list(running):
                    if (result := _finished(plan, one)) is not None:
                        running.remove(one)
                        shutil.rmtree(one.folder, ignore_errors=True)
                        yield result
        finally:
            for one in running:
                _end(one)


def _start(plan: Plan, mutant: Mutant | None, scratch: Path) -> Running:
    folder = Path(tempfile.mkdtemp(dir=scratch))
    (folder / "kernel").mkdir()
    target = plan.target.write(folder / "kernel", mutant)
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        _in_child(folder, lambda: _run(plan, folder, target, mutant.serves if mutant else ""))
    return Running(mutant, pid, folder)


def _in_child(folder: Path, run: Callable[[], object]) -> None:
    """Runs and never returns: whatever happens, the process ends here."""
    status = 70
    try:
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ |= {"MUTATION_RESULT": str(folder / "result.json"), "TTIR_CACHE_DIR": str(folder / "ttir")}
        run()
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}")
    finally:
        sys.stdout.flush()
        os._exit(status)


def _run(plan: Plan, folder: Path, target: str, first: str) -> None:
    os.chdir(ROOT)
    os.environ |= {"MUTATION_SHRINK": str(plan.shrink), "MUTATION_ALL": str(int(plan.is_complete))}
    os.environ["MUTATION_FIRST"] = first
    if plan.target.path.is_dir():
        sys.path.insert(0, str(folder / "kernel"))
        loaded = importlib.import_module(target)
        assert str(folder) in str(loaded.__file__), f"{target} was loaded from {loaded.__file__}"
        sys.path.pop(0)
    sys.path.insert(0, str(ROOT))
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "properties.mutation.observing", "-x"]
    if plan.is_complete:
        options.remove("-x")
    sys.argv = [
        "pytest", *options, *plan.tests, "--candidate", target, "--engine", plan.engine,
        "--hypothesis-profile", plan.profile, f"--hypothesis-seed={plan.seed}",
    ]  # fmt: skip  # options by what they say
    runpy.run_module("pytest", run_name="__main__")


def _finished(plan: Plan, one: Running) -> dict[str, Any] | None:
    """The result of a process that has ended, or has had its time; None while it runs."""
    pid, status = os.waitpid(one.pid, os.WNOHANG)
    took = time.monotonic() - one.started
    if pid:
        return _result(one, took, os.waitstatus_to_exitcode(status))
    seen = one.seen()
    silent = time.time() - _modified(one.folder / "result.json", one)
    if took > plan.limit or silent > plan.test_limit:
        _end(one)
        return {**_result(one, took, None), "state": "timeout", "test": seen.get("test", "")}
    return None


def _modified(path: Path, one: Running) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return time.time() - (time.monotonic() - one.started)


def _end(one: Running) -> None:
    for signalled in (one.pid, -one.pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(signalled, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(one.pid, 0)


def _result(one: Running, took: float, status: int | None) -> dict[str, Any]:
    """What became of a mutant: killed, survived, invalid, failed (the judge did), not judged or timeout."""
    seen = one.seen()
    log = ""
    with suppress(OSError):
        log = (one.folder / "log").read_text(errors="replace")[-2000:]
    if seen.get("killed_by"):
        state = "killed"
    elif status == 4 or not seen:
        state = "invalid"  # it does not import, or is no candidate
    elif seen.get("is_done") and status == 0:
        state = "survived"
    elif seen.get("not_judged"):
        state = "not judged"
    else:
        state = "failed"
    return {
        "key": one.mutant.key if one.mutant else "control",
        "operator": one.mutant.operator if one.mutant else "control",
        "line": one.mutant.line if one.mutant else 0,
        "state": state,
        "killed_by": seen.get("killed_by", []),
        "red": seen.get("red", []),
        "seconds": round(seen.get("seconds") or took, 2),
        "took": round(took, 2),
        "example": seen.get("example", ""),
        "reason": ""
        if state in ("killed", "survived")
        else (seen.get("failed") or str(seen.get("not_judged") or "") or log),
        "durations": seen.get("durations", {}) if one.mutant is None else {},
    }
