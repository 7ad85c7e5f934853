"""The candidate: a path or module name becomes the operators it offers, or one line of what is wrong."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import torch

from properties import surroundings
from properties.contract import OPERATORS, signature_fault
from properties.interrupts import is_of_the_user
from properties.leaving import Leaving, staying
from properties.printable import class_name, is_text, one_line, printable, shortened

ALLOWED = "a file ending in .py or a module name that offers fused_sconv or sconv_seq_metadata"
INSIDES = (
    Path(__file__).parent,
    Path(torch.__file__).parent,
)  # the judge and torch: no line there is a candidate's fault

Result = TypeVar("Result")


class BadCandidate(Exception):
    """The candidate cannot be judged; the message is one line that names the cause and what is allowed."""


@dataclass(frozen=True)
class Candidate:
    """A kernel file under judgement: `operators` by name, `path` and `digest` of its source, `missing` operators.

    notes: what executing the file did to the process, in words; all but the environment was put back.
    """

    name: str
    path: Path | None
    digest: str
    operators: dict[str, Callable[..., object]]
    notes: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Operators of the contract that the candidate does not offer."""
        return tuple(name for name in OPERATORS if name not in self.operators)

    @property
    def target(self) -> str:
        """What `--candidate` takes from any folder: the file's whole path, or the module's name."""
        return self.name if self.path is None or self.path.name == "__init__.py" else str(self.path)

    @property
    def title(self) -> str:
        """Path and content hash, for the run's header; a package is hashed over all its files."""
        if self.path is not None and self.path.name == "__init__.py":
            return f"{printable(str(self.path.parent))}/ (sha256 of its files {self.digest})"
        return f"{printable(str(self.path or self.name))} (sha256 {self.digest})"


def load(target: str, base: Path | None = None, role: str = "candidate") -> Candidate:
    """Executes a candidate once and returns its operators.

    target: path of a `.py` file (relative to `base`), or a dotted module name. role: what messages call it. Raises
    BadCandidate.
    """
    path = (base or Path.cwd()) / target
    before = surroundings.state()
    try:
        with surroundings.listening(f"importing the {role}"), staying():
            if target.endswith(".py") or "/" in target or "\\" in target:
                source: Path | None = _file(path)
                module = _execute(path.resolve())
            else:
                module, source = _imported(target, path)
        notes = tuple(words for _, words in surroundings.changes(before, "the environment", "the warning filters"))
        return _offered(target, module, source, notes)
    except BadCandidate as error:
        raise BadCandidate(f"{role} {target!r} {error}") from error.__cause__


def _file(path: Path) -> Path:
    """The path of a file that can be executed, or BadCandidate."""
    if not is_text(path.resolve()):
        raise BadCandidate("has bytes in its path that are no UTF-8, which no report or script can hold: rename it")
    if path.is_dir():
        raise BadCandidate("is a folder; name a file, or a package by its dotted name")
    if not path.is_file():
        raise BadCandidate(f"is no file; allowed: {ALLOWED}")
    if path.suffix != ".py":
        raise BadCandidate(f"does not end in .py; allowed: {ALLOWED}")
    return path.resolve()


def _imported(target: str, path: Path) -> tuple[ModuleType, Path | None]:
    """A module by its name, and where its source is; `path` is what the name would be as a file."""
    if path.is_file():
        raise BadCandidate(f"is a file that does not end in .py; allowed: {ALLOWED}")
    if not all(part.isidentifier() for part in target.split(".")):
        raise BadCandidate(f"is neither a .py file nor a module name; allowed: {ALLOWED}")
    with _shims():
        spec = _guarded(None, lambda: _spec(target))
        if spec is None:
            raise BadCandidate(f"is no module that can be found; allowed: {ALLOWED}")
        origin = Path(spec.origin) if spec.has_location and spec.origin else None
        return _guarded(origin, lambda: importlib.import_module(target)), origin


def _spec(target: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(target)
    except ModuleNotFoundError as error:
        if error.name is not None and (target + ".").startswith(error.name + "."):
            return None  # the module or its parent; else its parent imports what is not here
        raise


def _offered(target: str, module: ModuleType, path: Path | None, notes: tuple[str, ...]) -> Candidate:
    operators = {}
    for name in OPERATORS:
        function = getattr(module, name, None)
        if function is None:
            continue
        if not callable(function):
            raise BadCandidate(f"has a wrong operator: {name} is {function!r}, not a function")
        if fault := signature_fault(name, function):
            raise BadCandidate(f"has a wrong operator: {fault}")
        operators[name] = function
    if not operators:
        raise BadCandidate(f"offers no operator; allowed: {ALLOWED}")
    return Candidate(target, path, _digest(path), operators, notes)


def _digest(path: Path | None) -> str:
    """First 12 hex digits over the file, or over every Python file of a package."""
    if path is None or not path.is_file():
        return "unknown"
    files = sorted(path.parent.glob("**/*.py")) if path.name == "__init__.py" else [path]
    return hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()[:12]


def _execute(path: Path) -> ModuleType:
    try:
        compile(path.read_bytes(), str(path), "exec")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:  # null bytes; nested too deeply
        raise BadCandidate(_no_python(error, path.name)) from error
    name = f"candidate_{path.stem}_{_digest(path)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadCandidate(f"is no Python file; allowed: {ALLOWED}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader = spec.loader
    with _shims():
        _guarded(path, lambda: loader.exec_module(module))
    return module


def _no_python(error: Exception, name: str) -> str:
    """Why a source is no Python, with its line where one is known."""
    message = getattr(error, "msg", str(error) or "nested too deeply")
    line = getattr(error, "lineno", None)
    return f"is not Python: {message} ({name}{f':{line}' if line else ''})"


def _guarded(path: Path | None, action: Callable[[], Result]) -> Result:
    """Runs an import; whatever it raises becomes one line with the candidate's line, in `path` where that is known."""
    try:
        return action()
    except SyntaxError as error:  # of what it imports
        raise BadCandidate(_no_python(error, Path(error.filename or "a module").name)) from error
    except ImportError as error:
        shims = "vllm.triton_utils is the only module supplied where it is absent"
        words = f"imports what is not here: {one_line(error)} ({line_of(error, path)}; {shims})"
        raise BadCandidate(words) from error
    except BaseException as error:  # SystemExit, or pytest's own outcomes, must not end the run
        if is_of_the_user(error):
            raise
        kind = "calls" if isinstance(error, Leaving) else f"{class_name(type(error))}:"
        words = f"fails when executed: {kind} {one_line(error)} ({line_of(error, path)})"
        raise BadCandidate(words) from error


def line_of(error: BaseException, path: Path | None) -> str:
    """`file:line` where an error passed through the candidate last; if never, where it left what is not the judge's."""
    frame = _last_frame(error, path)
    return printable(f"{Path(frame.filename).name}:{frame.lineno}")


def source_of(error: BaseException, path: Path | None) -> str:
    """What `line_of` gives, with the function and the text of the line."""
    frame = _last_frame(error, path)
    place = printable(f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}")
    return f"{shortened(place)}: {shortened(printable(str(frame.line)))}"


def _last_frame(error: BaseException, path: Path | None) -> traceback.FrameSummary:
    frames = traceback.extract_tb(error.__traceback__)
    home = path.parent if path is not None and path.name == "__init__.py" else path
    own = [frame for frame in frames if home is not None and Path(frame.filename).is_relative_to(home)]
    others = [frame for frame in frames if not any(Path(frame.filename).is_relative_to(one) for one in INSIDES)]
    return (own or others or frames)[-1]


class _shims:
    """Supplies `vllm.triton_utils` where vLLM is absent, while a candidate is executed."""

    def __enter__(self) -> None:
        self.added: list[str] = []
        if "vllm" in sys.modules or importlib.util.find_spec("vllm") is not None:
            return
        import triton
        import triton.language

        package, utils = ModuleType("vllm"), ModuleType("vllm.triton_utils")
        package.__path__ = []
        utils.triton, utils.tl, utils.HAS_TRITON = triton, triton.language, True  # type: ignore[attr-defined]
        package.triton_utils = utils  # type: ignore[attr-defined]
        for module in (package, utils):
            sys.modules[module.__name__] = module
            self.added.append(module.__name__)

    def __exit__(self, *exc_info: object) -> None:
        for name in self.added:
            sys.modules.pop(name, None)
