"""Candidates that break rules before any number is compared: each is told in one line, and the run goes on."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

from properties import interrupts, surroundings, tally
from properties.candidate import BadCandidate, load
from properties.cases import Forward, Geometry, Metadata, Request
from properties.engines.base import Engine
from properties.engines.filling import filled_memory
from properties.invariants import cache, metadata, values
from properties.verdict import Violation
from tests.meta.test_command_line import ROOT

GOOD = "import os, sys, random, warnings\nimport numpy as np\nimport torch\nfrom tests.meta.candidates import plain\n"
CALLS = GOOD + (
    "def fused_sconv(x, weight, cache, positions, block_table, seq_idx, slot_mapping, query_start, off_s, ws,"
    " block_size, activation=None, use_residual=True):\n"
    "    out = plain.fused_sconv(x, weight, cache, positions, block_table, seq_idx, slot_mapping, query_start, off_s,"
    " ws, block_size, activation, use_residual)\n"
    "    {}\n"
    "    return out\n"
)
CASE = Forward(Geometry(W=2, dtype="fp32"), (Request(start=1, length=2),))
HERE = "cache.process_frame"


def written(tmp_path, text, name="kernel.py"):
    """A candidate file with that text."""
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# file, what is in it, what the one line says
REFUSED = [
    ("empty.py", "", "offers no operator; allowed: a file ending in .py or a module name that offers fused_sconv or"),
    ("README.md", "# sconv\n", "does not end in .py; allowed: "),
    ("zeros.py", b"\0\0", "is not Python: source code string cannot contain null bytes (zeros.py)"),
    ("deep.py", "x = " + "-" * 200_000 + "1\n", "is not Python: "),
    ("syntax.py", "x = 1\nif x\n", "is not Python: expected ':' (syntax.py:2)"),
    ("indent.py", "def f():\nx = 1\n", "is not Python: expected an indented block after function definition on line 1"),
    ("latin.py", b"x = '\xe9'\n", "is not Python: (unicode error) 'utf-8' codec can't decode byte 0xe9"),
    ("absent.py", "import vllm.attention\n", "imports what is not here: No module named 'vllm.attention' (absent.py:"),
    ("inside.py", "from vllm import _custom_ops\n", "imports what is not here: cannot import name '_custom_ops' from "),
    ("raises.py", "import json\n\njson.loads('{')\n", "fails when executed: JSONDecodeError: Expecting property name"),
    ("leaves.py", "import sys\nsys.exit('no GPU')\n", "fails when executed: SystemExit: no GPU (leaves.py:2)"),
    ("exits.py", "import os\nos._exit(0)\n", "fails when executed: calls os._exit(0) (exits.py:2)"),
    ("stops.py", "raise KeyboardInterrupt\n", "fails when executed: KeyboardInterrupt: no message (stops.py:1)"),
    ("skips.py", "import pytest\npytest.skip('x', allow_module_level=True)\n", "fails when executed: Skipped: "),
    ("names.py", CALLS.format("pass").replace("(x, weight, ", "(inputs, weight, "), "must take (x, weight, cache, "),
    ("value.py", "fused_sconv = 3\n", "fused_sconv is 3, not a function"),
]  # fmt: skip  # a table: a row a line


@pytest.mark.parametrize(("name", "text", "line"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_file_that_cannot_be_judged(tmp_path, name, text, line):
    """Refuses it in one line that names the file and the cause."""
    interrupts.watch()
    path = written(tmp_path, text, name)
    with pytest.raises(BadCandidate) as caught:
        load(str(path))
    assert str(caught.value).startswith(f"candidate {str(path)!r}")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_and_a_file_by_its_bare_name(tmp_path):
    """Says of a folder that it is one, and of `README.md` that it does not end in .py."""
    for target, line in (
        (str(tmp_path), "is a folder; name a file, "),
        ("README.md", "is a file that does not end in "),
    ):
        with pytest.raises(BadCandidate, match=line):
            load(target, ROOT)


def test_the_candidates_own_line(tmp_path):
    """Names the line of the candidate, where the library that it calls raises."""
    with pytest.raises(BadCandidate, match=r"\(kernel\.py:3\)$"):
        load(str(written(tmp_path, "import json\n\njson.loads('{')\n")))


def ops_of(tmp_path, text):
    """A candidate's operators on the host."""
    interrupts.watch()
    return Engine().bind(load(str(written(tmp_path, text))))


# What stands in the candidate's line, and what the first line of the violation says.
FORBIDDEN = [
    ("raise ValueError('bad\\nshape')", "raised ValueError on a case that the contract allows: bad shape"),
    ("sys.exit(3)", "raised SystemExit on a case that the contract allows: 3"),
    ("raise KeyboardInterrupt", "raised KeyboardInterrupt on a case that the contract allows: no message"),
    ("os._exit(0)", "called os._exit(0) on a case that the contract allows"),
    ("os.execv('/bin/true', ['true'])", "called os.execv('/bin/true', ['true']) on a case that the contract allows"),
    ("__import__('pytest').skip('not today')", "raised Skipped on a case that the contract allows: not today"),
    ("import vllm.attention", "raised ModuleNotFoundError on a case that the contract allows: No module named 'vllm'"),
    ("return None", "returned NoneType, but should return a tensor"),
    ("return out[:-1]", "returned shape (1, 1), but should return (2, 1)"),
    ("return out.double()", "returned dtype torch.float64, but should return that of x, torch.float32"),
    ("return out.to_sparse()", "returned layout torch.sparse_coo, but should return that of x, torch.strided"),
    ("return out.to('meta')", "returned device meta, but should return that of x, cpu"),
    (
        "return torch._subclasses.FakeTensorMode().from_tensor(out)",
        "returned FakeTensor, but should return a tensor in memory of its own",
    ),
    ("return x", "returned memory of its argument x, but should return its own"),
    ("return x[:]", "returned memory of its argument x, but should return its own"),
    ("return cache[:2, 0, 0]", "returned memory of its argument cache, but should return its own"),
    ("torch.set_default_dtype(torch.float16)", "changed torch's default dtype from torch.float32 to torch.float16"),
    ("torch.set_default_device('meta')", "changed torch's default device from None to meta"),
    ("torch.set_grad_enabled(False)", "changed torch's gradient mode from True to False"),
    ("torch.use_deterministic_algorithms(False)", "changed torch's deterministic mode from True to False"),
    ("torch.set_float32_matmul_precision('high')", "changed torch's matmul precision from highest to high"),
    ("torch.set_num_threads(7)", "changed torch's number of threads from 1 to 7"),
    ("torch.manual_seed(0)", "changed the state of torch's random numbers"),
    ("random.random()", "changed the state of Python's random numbers"),
    ("np.random.rand()", "changed the state of NumPy's random numbers"),
    ("os.environ['SCONV_FAST'] = '1'; os.environ.pop('HOME', 0)", "changed the environment in HOME, SCONV_FAST"),
    ("os.chdir('/')", f"changed the working directory from {os.getcwd()} to /"),
]


@pytest.mark.parametrize(("line", "words"), FORBIDDEN, ids=[row[0] for row in FORBIDDEN])
def test_a_call_that_breaks_a_rule(tmp_path, monkeypatch, line, words):
    """Is a violation in one line; whatever it changed is as before."""
    monkeypatch.setenv("HOME", "/root")
    torch.set_num_threads(1)
    ops = ops_of(tmp_path, CALLS.format(line))
    with filled_memory():
        pass  # the first one sets variables of torch's own
    before = surroundings.state()
    with pytest.raises(Violation) as caught:
        cache.process_frame(ops, CASE)
    assert caught.value.headline == f"Violation: fused_sconv {words}   [{HERE}]"
    assert surroundings.state() == before


def test_the_line_of_the_candidate_that_raised(tmp_path):
    """Stands beside the exception."""
    with pytest.raises(Violation) as caught:
        cache.process_frame(ops_of(tmp_path, CALLS.format("torch.zeros(2) + torch.zeros(3)")), CASE)
    assert re.match(r"kernel\.py:7 in ", caught.value.at)


def test_a_change_is_noted_while_another_property_is_judged(tmp_path):
    """Leaves that property judged by its values, and tells the change under its own name."""
    values.dense_exact(ops_of(tmp_path, CALLS.format("torch.rand(1)")), CASE)
    assert tally.COUNTS["values.dense_exact"].judged == 1
    count = tally.COUNTS[HERE]
    assert (count.violated, count.judged) == (1, 0)
    (example,) = count.examples.values()
    assert "fused_sconv changed the state of torch's random numbers   [cache.process_frame]" in example
    assert "seen while judging values.dense_exact" in example


def test_the_metadata_operator_is_watched_too(tmp_path):
    """Names the metadata operator's own property, also when it is changed on the way to an exception."""
    text = GOOD + (
        "def sconv_seq_metadata(query_start_loc, num_reqs, num_actual_tokens, seq_idx_out, query_start_out,"
        " num_padded_tokens=None):\n    torch.set_default_dtype(torch.float64)\n    raise ValueError('too small')\n"
    )
    ops = ops_of(tmp_path, text)
    with pytest.raises(Violation, match="raised ValueError"):
        metadata.process_frame(ops, Metadata())
    assert tally.COUNTS["metadata.process_frame"].violated == 2
    assert torch.get_default_dtype() is torch.float32
    assert ops.refusal("sconv_seq_metadata", None, 0, 0, None, None) is not None
    assert torch.get_default_dtype() is torch.float32


NOTED = [
    ("print('T =', 3)", "note       fused_sconv printed in 1 call, first 'T = 3'"),
    ("print('oh', file=sys.stderr)", "note       fused_sconv wrote to stderr in 1 call, first 'oh'"),
    ("os.write(1, b'past Python')", "note       fused_sconv printed in 1 call, first 'past Python'"),
    ("sys.stdout.close()", "note       fused_sconv closed sys.stdout in 1 call"),
    ("sys.stderr = None", "note       fused_sconv replaced sys.stderr in 1 call"),
    ("torch.empty = torch.zeros", "note       fused_sconv changed functions of torch (torch.empty) in 1 call"),
    ("torch.Tensor.add = 3", "note       fused_sconv changed functions of torch (torch.Tensor.add) in 1 call"),
    ("warnings.simplefilter('ignore')", "note       fused_sconv changed the warning filters in 1 call"),
]


@pytest.mark.parametrize(("line", "told"), NOTED, ids=[row[0] for row in NOTED])
def test_a_call_that_does_what_nobody_asked_for(tmp_path, capsys, line, told):
    """Holds, and is told in one line; what it prints is not repeated for every case."""
    filters = list(warnings.filters)
    others = sys.stdout, sys.stderr, torch.empty, torch.Tensor.add
    cache.process_frame(ops_of(tmp_path, CALLS.format(line)), CASE)
    assert tally.COUNTS[HERE].judged == 1
    assert surroundings.lines() == [told]
    assert capsys.readouterr() == ("", "")
    assert warnings.filters == filters
    assert (sys.stdout, sys.stderr, torch.empty, torch.Tensor.add) == others


def test_a_correct_call_changes_nothing(tmp_path):
    """Accuses the plain candidate of nothing, without notes."""
    cache.process_frame(ops_of(tmp_path, CALLS.format("pass")), CASE)
    assert surroundings.NOTES == {}
    assert tally.COUNTS[HERE].violated == 0


def test_what_executing_the_file_changes(tmp_path):
    """Tells and puts back what executing the file changes; the environment, which a kernel may read later, stays."""
    text = (
        CALLS.format("pass") + "torch.set_default_dtype(torch.float16)\nos.environ['SCONV_IMPORTED'] = '1'\nprint(8)\n"
    )
    try:
        one = load(str(written(tmp_path, text)))
        assert one.notes == (
            "changed torch's default dtype from torch.float32 to torch.float16",
            "changed the environment in SCONV_IMPORTED",
        )
        assert surroundings.lines() == ["note       importing the candidate printed in 1 call, first '8'"]
        assert torch.get_default_dtype() is torch.float32
        assert os.environ["SCONV_IMPORTED"] == "1"
    finally:
        os.environ.pop("SCONV_IMPORTED", None)


def test_random_numbers_are_put_back():
    """Restores each of the three generators to the bits it had."""
    before = surroundings.state()
    expected = torch.rand(3).tolist(), random.random(), np.random.rand()
    assert {setting.name for setting, _ in surroundings.changes(before)} == {
        f"the state of {whose} random numbers" for whose in ("torch's", "Python's", "NumPy's")
    }
    assert (torch.rand(3).tolist(), random.random(), np.random.rand()) == expected


def test_the_users_own_interrupt_ends_the_run():
    """Tells Ctrl-C, which comes as a signal, from a KeyboardInterrupt that somebody raises."""
    script = (
        "import os, signal\nfrom properties import interrupts\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background ignores it
        "interrupts.watch()\n"
        "print(interrupts.is_of_the_user(KeyboardInterrupt()), interrupts.is_of_the_user(SystemExit()))\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt as error:\n    print(interrupts.is_of_the_user(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "False False\nTrue\n", done.stderr
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_DFL


def test_the_run_goes_on(tmp_path):
    """Judges every other property of a run whose candidate ends the process, prints and raises KeyboardInterrupt."""
    text = GOOD + "from tests.meta.candidates.plain import *\n" + (
        "def sconv_seq_metadata(query_start_loc, num_reqs, num_actual_tokens, seq_idx_out, query_start_out,"
        " num_padded_tokens=None):\n"
        "    print('hello', num_reqs)\n"
        "    if num_reqs == 2: raise KeyboardInterrupt\n"
        "    if num_reqs == 3: sys.exit(0)\n"
        "    return plain.sconv_seq_metadata(query_start_loc, num_reqs, num_actual_tokens, seq_idx_out,"
        " query_start_out, num_padded_tokens)\n"
    )  # fmt: skip  # as a file
    path = written(tmp_path, text)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--candidate", str(path)]
    done = subprocess.run(
        [*command, "tests/test_metadata.py", "tests/test_streams.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "violated   metadata.searchsorted" in done.stdout
    assert "raised KeyboardInterrupt on a case that the contract allows" in done.stdout
    assert "holds      streams.any_order" in done.stdout
    assert re.search(r"note       sconv_seq_metadata printed in [\d,]+ calls, first 'hello ", done.stdout)
    assert done.stdout.count("hello") == 1


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("RuntimeError('a\\ud800b')", "RuntimeError on a case that the contract allows: a\\ud800b"),
        ("RuntimeError('a\\0b\\x1b[31mc')", "RuntimeError on a case that the contract allows: a\\x00b\\x1b[31mc"),
        ("type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})()", "for making it raised ZeroDivisionError"),
    ],
)
def test_a_message_that_no_terminal_takes(raised, told, tmp_path):
    """Stands in the violation in characters that have an encoding and move nothing."""
    with pytest.raises(Violation) as caught:
        cache.process_frame(ops_of(tmp_path, CALLS.format(f"exec('raise ' + {raised!r})")), CASE)
    assert told in caught.value.headline
    caught.value.headline.encode()
