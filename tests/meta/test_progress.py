"""The line of progress, on a pseudo-terminal; and that nothing of it is anywhere else."""

from __future__ import annotations

import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.meta.candidates.faults import write_faulty
from tests.meta.test_command_line import ROOT
from tests.progress import OVER_THE_LAST, Beat, Progress, budget, is_wanted

LINE = re.compile(
    r"(\d+)%, (?:time left unknown|\d+:\d\d left); ([\d,]+) cases, "
    r"(\d+) propert(?:y|ies) violated, [\d,]+ specialisations?"
)
ONE_FILE = "tests/test_metadata.py"


def run(*arguments: str, stdout: int, **environment: str) -> subprocess.Popen[bytes]:
    """Starts the judge on the metadata group, with this standard output, without a terminal for its input."""
    surroundings = {name: value for name, value in os.environ.items() if name not in ("CI", "COLUMNS", "TERM")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={**surroundings, "TERM": "xterm", **environment},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.STDOUT,
    )


def on_a_terminal(*arguments: str, columns: int = 80, **environment: str) -> tuple[int, str]:
    """Exit code and all that a run writes to a terminal of so many columns; whether this process has one or not."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = run(*arguments, stdout=theirs, **environment)
    os.close(theirs)
    written = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not read:
            break
        written += read
    os.close(ours)
    return process.wait(), written.decode()


def lines_of(written: str) -> list[str]:
    """What stood in the line, one after the other; the last is what follows the empty line at the end."""
    return written.split(OVER_THE_LAST)[1:]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_on_a_terminal(tmp_path, workers):
    """Shows cases, violated properties, specialisations and the share of the budget, then the verdicts as ever."""
    path = str(write_faulty("search_one_step_short", tmp_path))
    code, written = on_a_terminal("-n", workers, "--candidate", path, ONE_FILE)
    assert code == 1, written
    *shown, after = lines_of(written)
    found = [LINE.match(line) for line in shown]  # behind it xdist may still say how far it has collected
    assert shown
    assert all(found), shown
    percents, cases, violated = ([int(one[number].replace(",", "")) for one in found if one] for number in range(1, 4))
    assert (percents[-1], violated[-1]) == (100, 1)
    assert percents == sorted(percents)
    assert cases == sorted(cases)
    assert cases[-1] > 0
    assert "Violation: " in after
    assert re.search(r"^violated +metadata\.searchsorted", after, re.M)
    assert re.search(r"1 failed.*, .*2 passed", after)
    assert LINE.search(after) is None


def test_a_narrow_terminal():
    """Cuts the line, so that it stays one."""
    code, written = on_a_terminal("-n", "0", ONE_FILE, columns=30)
    assert code == 0, written
    *shown, _ = lines_of(written)
    assert shown
    assert all(re.match(r"\d+%, .* left", line) and len(line) < 30 for line in shown), shown


def test_under_continuous_integration():
    """Leaves pytest's own dots on a terminal that is only a log."""
    code, written = on_a_terminal("-n", "0", f"{ONE_FILE}::test_refuses", CI="true")
    assert code == 0, written
    assert re.search(r"^tests/test_metadata\.py .*\.", written, re.M)
    assert OVER_THE_LAST not in written


@pytest.mark.parametrize(
    ("is_seen", "options", "environment"),
    [
        (True, {}, {}),
        (False, {"verbose": -1}, {}),
        (False, {"verbose": 1}, {}),
        (False, {"collectonly": True}, {}),
        (False, {}, {"TERM": "dumb"}),
        (False, {}, {"CI": "1"}),
    ],
)
def test_where_somebody_watches(monkeypatch, is_seen, options, environment):
    """Is shown on a terminal alone, and not where pytest was asked for less or for more."""
    for name in ("CI", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    option = SimpleNamespace(**{"verbose": 0, "collectonly": False, **options})
    config = SimpleNamespace(option=option)
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    assert is_wanted(config) == is_seen  # type: ignore[arg-type]  # all that it asks of a configuration
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: False))
    assert not is_wanted(config)  # type: ignore[arg-type]


def test_without_a_terminal():
    """Writes nothing of it into a pipe."""
    process = run("-n", "0", f"{ONE_FILE}::test_refuses", stdout=subprocess.PIPE)
    written = process.communicate()[0].decode()
    assert process.returncode == 0, written
    assert "1 passed" in written
    assert "\x1b" not in written
    assert "\r" not in written
    assert "violated, " in written.splitlines()[-3]
    assert LINE.search(written) is None


@pytest.mark.parametrize("arguments", [("--candidate", "no/such.py"), ("--report", "README.md")])
def test_a_wrong_request(tmp_path, arguments):
    """Is told in one line, and leaves no folder behind."""
    code, written = on_a_terminal("-n", "2", *arguments, ONE_FILE, TMPDIR=str(tmp_path))
    assert code == 4
    assert written.count("ERROR: ") == 1
    assert OVER_THE_LAST not in written
    assert list(tmp_path.iterdir()) == []


def told(judged: int, violated: list[str], specialisations: int) -> dict[str, object]:
    """What a process says of itself."""
    return {"judged": judged, "violated": violated, "specialisations": specialisations}


def test_the_words(tmp_path):
    """Adds up all processes, a property that two of them see violated once, and the time left by the budget used."""
    nothing = told(0, [], -1)
    with (tmp_path / "stream").open("w") as stream:
        progress = Progress(stream, tmp_path, lambda: nothing, begun=100.0, total=400)
        assert progress.line(110.0) == "0%, time left unknown; 0 cases, 0 properties violated, 0 specialisations"
        (tmp_path / "gw0.json").write_text(json.dumps(told(1200, ["values.unbiased"], 1)))
        progress.finished = 100
        expected = "25%, 1:03 left; 1,200 cases, 1 property violated, 1 specialisation"
        assert progress.line(121.0) == expected
        (tmp_path / "gw1.json").write_text(json.dumps(told(34, ["values.unbiased", "cache.stored"], 20)))
        (tmp_path / "gw1.new").write_text("half a fi")
        progress.finished = 400
        expected = "100%, 0:00 left; 1,234 cases, 2 properties violated, 21 specialisations"
        assert progress.line(121.0) == expected
        progress.pytest_testnodedown(SimpleNamespace(gateway=SimpleNamespace(id="gw1")))
        expected = "100%, 0:00 left; 1,200 cases, 1 property violated, 1 specialisation"
        assert progress.line(121.0) == expected


def test_the_widest_line_fits(tmp_path):
    """Fits a terminal of 80 columns after an hour of the largest profile."""
    most = told(999_999, [str(number) for number in range(99)], 9_999)
    with Path(os.devnull).open("w") as stream:
        line = Progress(stream, tmp_path, lambda: most, begun=0.0, finished=1, total=10).line(3600.0)
    assert line.startswith("10%, 540:00 left; 999,999 cases")
    assert len(line) < 80


def test_a_budget():
    """Gives a test of no dtype what the three of a dtype have together."""
    of_one = budget("tests/test_values.py::test_unbiased[bf16]")
    assert budget("tests/test_metadata.py::test_refuses") == 3 * of_one
    assert budget("tests/test_history.py::test_public_bugs[fp32-recycled_nan]") == of_one


def test_a_stopped_beat():
    """Does nothing any more."""
    done: list[int] = []
    beat = Beat(lambda: done.append(1))
    beat.now()
    beat.stop()
    count = len(done)
    assert count >= 1
    assert not beat.thread.is_alive()
