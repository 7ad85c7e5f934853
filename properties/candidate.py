"""The candidate: a path or module name becomes the operators it offers, or one line of what is wrong."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from properties.contract import OPERATORS, signature_fault

ALLOWED = "a file ending in .py or a module name that offers fused_sconv or sconv_seq_metadata"


class BadCandidate(Exception):
    """The candidate cannot be judged; the message is one line that names the cause and what is allowed."""


@dataclass(frozen=True)
class Candidate:
    """A kernel file under judgement: `operators` by name, `path` and `digest` of its source, `missing` operators."""

    name: str
    path: Path | None
    digest: str
    operators: dict[str, Callable[..., object]]

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
            return f"{self.path.parent}/ (sha256 of its files {self.digest})"
        return f"{self.path or self.name} (sha256 {self.digest})"


def load(target: str, base: Path | None = None) -> Candidate:
    """Executes a candidate once and returns its operators.

    target: path of a `.py` file (relative to `base`), or a dotted module name. Raises BadCandidate.
    """
    if target.endswith(".py") or "/" in target or "\\" in target:
        path = (base or Path.cwd()) / target
        if path.is_dir() and (path / "__init__.py").is_file():
            raise BadCandidate(f"candidate {target!r} is a folder; name a file, or the package by its dotted name")
        if not path.is_file():
            raise BadCandidate(f"candidate {target!r} is no file; allowed: {ALLOWED}")
        return _offered(target, _execute(target, path.resolve()), path.resolve())
    if not all(part.isidentifier() for part in target.split(".")):
        raise BadCandidate(f"candidate {target!r} is neither a .py file nor a module name; allowed: {ALLOWED}")
    with _shims():
        try:
            found = importlib.util.find_spec(target) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            raise BadCandidate(f"candidate {target!r} is no module that can be found; allowed: {ALLOWED}")
        module = _guarded(target, lambda: importlib.import_module(target))
    source = getattr(module, "__file__", None)
    return _offered(target, module, Path(source) if source else None)


def _offered(target: str, module: ModuleType, path: Path | None) -> Candidate:
    operators = {}
    for name in OPERATORS:
        function = getattr(module, name, None)
        if function is None:
            continue
        if not callable(function):
            raise BadCandidate(f"candidate {target!r}: {name} is {function!r}, not a function")
        if fault := signature_fault(name, function):
            raise BadCandidate(f"candidate {target!r}: {fault}")
        operators[name] = function
    if not operators:
        raise BadCandidate(f"candidate {target!r} offers no operator; allowed: {ALLOWED}")
    return Candidate(target, path, _digest(path), operators)


def _digest(path: Path | None) -> str:
    """First 12 hex digits over the file, or over every Python file of a package."""
    if path is None or not path.is_file():
        return "unknown"
    files = sorted(path.parent.glob("**/*.py")) if path.name == "__init__.py" else [path]
    return hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()[:12]


def _execute(target: str, path: Path) -> ModuleType:
    name = f"candidate_{path.stem}_{_digest(path)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadCandidate(f"candidate {target!r} is no Python file; allowed: {ALLOWED}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader = spec.loader
    with _shims():
        _guarded(target, lambda: loader.exec_module(module))
    return module


def _guarded(target: str, action: Callable[[], object]) -> ModuleType:
    """Runs an import; whatever it raises becomes one line."""
    try:
        return action()  # type: ignore[return-value]  # exec_module's None is unused
    except SyntaxError as error:
        place = f"{Path(error.filename or target).name}:{error.lineno}"
        raise BadCandidate(f"candidate {target!r} is not Python: {error.msg} ({place})") from error
    except ImportError as error:
        shims = "vllm.triton_utils is the only module supplied where it is absent"
        raise BadCandidate(f"candidate {target!r} imports what is not here: {error} ({shims})") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, or pytest's own outcomes, must not end the run
        detail = " ".join(str(error).split()) or "no message"
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"({Path(last.filename).name}:{last.lineno})"
        raise BadCandidate(
            f"candidate {target!r} fails when executed: {type(error).__name__}: {detail} {place}"
        ) from error


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
