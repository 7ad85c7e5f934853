"""Replaying a printed case from the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from properties.replay import main
from tests.meta.candidates.faults import write_faulty

CASE = "Metadata(lengths=(1, 1))"
SCRIPT = Path(__file__).parents[2] / "properties/replay.py"


def test_a_case_that_fails(tmp_path, capsys):
    """Prints the violation and returns 1."""
    path = write_faulty("search_one_step_short", tmp_path)
    assert main([str(path), "metadata.searchsorted", CASE, "--engine", "ttir"]) == 1
    assert "Violation: seq_idx_out[row 1] = 0, but should be 1   [metadata.searchsorted]" in capsys.readouterr().out


def test_a_case_that_holds(capsys):
    """Says so and returns 0."""
    assert main(["sconv", "metadata.searchsorted", CASE, "--engine", "ttir"]) == 0
    assert capsys.readouterr().out == f"holds: metadata.searchsorted for {CASE}\n"


def test_what_is_seen_beside(tmp_path, capsys):
    """Tells a violation of another property that the case shows."""
    path = write_faulty("changes_default_dtype", tmp_path)
    assert main([str(path), "metadata.searchsorted", "Metadata(padding=1)", "--engine", "ttir"]) == 0
    beside = "seen beside: Violation: sconv_seq_metadata changed torch's default dtype from torch.float32 to torch.fl"
    assert beside in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["none.py", "metadata.searchsorted", CASE], "candidate 'none.py' is no file; allowed: "),
        (
            ["sconv", "metadata.sorted", CASE],
            "property 'metadata.sorted' is unknown; did you mean metadata.searchsorted? allowed: baseline.",
        ),
        (["sconv", "x", CASE], "property 'x' is unknown; allowed: baseline."),
        (["sconv", "metadata.searchsorted", "Metdata()"], "the case names Metdata; did you mean Metadata? allowed: Ad"),
        (["sconv", "metadata.searchsorted", "__import__('os')"], "the case names __import__; allowed: Admit, "),
        (["sconv", "metadata.searchsorted", "Metadata(length=(1,))"], "Metadata has no length; did you mean lengths? "),
        (["sconv", "metadata.searchsorted", "Metadata(repeat=)"], "the case is not Python: "),
        (["sconv", "metadata.searchsorted", "Metadata(lengths=1/0)"], "the case cannot be read: division by zero"),
        (["sconv", "metadata.searchsorted", "Forward()"], "metadata.searchsorted judges a Metadata, not Forward()"),
        (["sconv", "metadata.searchsorted", "Metadata(lengths=1)"], "Metadata.lengths is 1, but must be a tuple of "),
        (
            ["sconv", "values.dense_exact", "Forward(geometry=Geometry(off_s=5))"],
            "Geometry.off_s is 5, but must be at ",
        ),
        (["sconv", "values.dense_exact", "Forward(contents='wide')"], "dense_exact takes contents='exact' and no "),
    ],
)
def test_a_wrong_request(arguments, line, capsys):
    """Says in one line what is wrong and returns 4."""
    assert main([*arguments, "--engine", "ttir"]) == 4
    printed = capsys.readouterr()
    assert printed.err.startswith(f"ERROR: {line}")
    assert len(printed.err.splitlines()) == 1
    assert printed.out == ""


def test_a_missing_argument(capsys):
    """Ends with 4 and one line, as every wrong request."""
    with pytest.raises(SystemExit) as caught:
        main(["sconv"])
    assert caught.value.code == 4
    assert capsys.readouterr().err == "ERROR: the following arguments are required: PROPERTY, CASE\n"


def test_from_any_folder_with_a_reader_that_leaves(tmp_path):
    """Runs by its path from elsewhere, takes a file of that folder, and ends quietly where its reader has gone."""
    path = write_faulty("search_one_step_short", tmp_path)
    path.write_text(f"import sys\nsys.path.append({str(SCRIPT.parents[1])!r})\n" + path.read_text())
    command = [sys.executable, str(SCRIPT), path.name, "metadata.searchsorted", CASE, "--engine", "ttir"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")
    heard = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert heard.stdout.startswith("Violation: seq_idx_out[row 1] = 0, but should be 1   [metadata.searchsorted]\n")
