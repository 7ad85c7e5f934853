"""The option --database: failing cases stored where other machines begin with them as well (docs/machines.md)."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import core, settings
from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase

from properties.candidate import Candidate
from properties.printable import printable
from tests.keys import DATABASE, FILED, JUDGE

ALLOWED = "allowed: a folder, or redis://HOST[:PORT][/NUMBER], rediss://..., unix://PATH"
SCHEMES = ("redis", "rediss", "unix")
SECONDS = 5.0  # for a server to answer


class Shared(ExampleDatabase):
    """A database elsewhere: once it fails, the run goes on without stored cases, and warns."""

    def __init__(self, inner: ExampleDatabase, name: str, failures: tuple[type[Exception], ...]) -> None:
        super().__init__()
        self.inner, self.name, self.failures, self.is_lost = inner, name, failures, False

    def fetch(self, key: bytes) -> Iterable[bytes]:
        """The cases of a test."""
        found: list[bytes] = []
        self._do(lambda: found.extend(self.inner.fetch(key)))
        return found

    def save(self, key: bytes, value: bytes) -> None:
        """Stores a case."""
        self._do(lambda: self.inner.save(key, value))

    def delete(self, key: bytes, value: bytes) -> None:
        """Forgets a case."""
        self._do(lambda: self.inner.delete(key, value))

    def _do(self, action: Any) -> None:
        if self.is_lost:
            return
        try:
            action()
        except self.failures as error:
            self.is_lost = True
            words = f"--database {self.name} was lost, so cases found from now on are told, but not stored there"
            warnings.warn(f"{words}: {printable(str(error))}", stacklevel=1)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    words = "where failing cases are stored and tried first, instead of .hypothesis/: a folder or redis://HOST"
    parser.getgroup("judge").addoption("--database", metavar="DIR|URL", help=words)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Puts the database into the profile, which Hypothesis has loaded by now; one that is not there ends the run."""
    if (given := config.getoption("--database")) is None:
        return
    name, database = opened(config, given)
    config.stash[DATABASE] = name
    # under CI Hypothesis draws the same in every run and stores nothing
    settings.register_profile("with a database", settings(), database=database, derandomize=False)
    settings.load_profile("with a database")
    core.global_force_seed = None  # with one Hypothesis leaves its database alone; shards.py gives it to each test


def opened(config: pytest.Config, given: str) -> tuple[str, Shared]:
    """The database that an option names, and its name to print; raises UsageError where there is none."""
    if "://" in given:
        return shown(given), Shared(*on_server(given, is_tried="workerinput" not in vars(config)))
    folder = Path(config.invocation_params.dir) / given
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise pytest.UsageError(f"--database {given!r} cannot be written to: {error.strerror}; {ALLOWED}") from None
    return str(folder), Shared(DirectoryBasedExampleDatabase(folder), str(folder), (OSError,))


def on_server(url: str, is_tried: bool) -> tuple[ExampleDatabase, str, tuple[type[Exception], ...]]:
    """Hypothesis's own database on a Redis server, its name to print, and what it raises; `is_tried`: asks it first."""
    name = shown(url)
    if urlsplit(url).scheme not in SCHEMES:
        raise pytest.UsageError(f"--database {name} is no address of a Redis server; {ALLOWED}")
    try:
        from hypothesis.extra.redis import RedisExampleDatabase
        from redis import Redis, RedisError
    except ImportError:
        raise pytest.UsageError(f"--database {name} needs the package redis: pip install redis") from None
    try:
        server = Redis.from_url(url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS)
        if is_tried:
            server.ping()
    except ValueError:
        raise pytest.UsageError(f"--database {name} is no address of a Redis server; {ALLOWED}") from None
    except (RedisError, OSError) as error:
        raise pytest.UsageError(f"--database {name} does not answer: {printable(str(error))}") from None
    return RedisExampleDatabase(server), name, (RedisError, OSError)


def shown(url: str) -> str:
    """An address without user, password and options: it stands in headers, reports and commands."""
    scheme = printable(url.partition("://")[0])
    with suppress(ValueError):
        parts = urlsplit(url)
        _, secret, place = parts.netloc.rpartition("@")
        if parts.port != 0 and not parts.fragment:  # as a password with a # in it makes one
            return f"{scheme}://{'***@' if secret else ''}{place}{parts.path}"
    return f"{scheme}://..."


def filed_under(candidate: Candidate) -> str:
    """What a candidate is called on every machine, and after an edit too: a file by its path in its repository.

    Not by its contents, since the case that a kernel failed is wanted once it is mended; not by its whole path, which
    is another one elsewhere. A file in no repository has its name alone.
    """
    path = Path(candidate.target)
    if candidate.path is None or not path.is_absolute():
        return candidate.target
    roots = (folder for folder in path.parents if (folder / ".git").exists())
    root = next(roots, path.parent)
    return path.relative_to(root).as_posix()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tells a test under which name its cases are stored."""
    if DATABASE in item.config.stash:
        item.stash[FILED] = filed_under(item.config.stash[JUDGE].ops.candidate)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Says where failing cases are stored, and under which name."""
    if DATABASE not in config.stash:
        return []
    return [f"database: {config.stash[DATABASE]}, under the name {filed_under(config.stash[JUDGE].ops.candidate)}"]
