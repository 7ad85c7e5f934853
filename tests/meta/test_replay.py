"""Replaying a printed case from the command line."""

from __future__ import annotations

import pytest

from properties.replay import main
from tests.meta.candidates.faults import write_faulty

CASE = "Metadata(lengths=(1, 1))"


def test_a_case_that_fails(tmp_path, capsys):
    """Prints the violation and returns 1."""
    path = write_faulty("search_one_step_short", tmp_path)
    assert main([str(path), "metadata.searchsorted", CASE, "--engine", "ttir"]) == 1
    assert "Violation: seq_idx_out[row 1] = 0, but should be 1   [metadata.searchsorted]" in capsys.readouterr().out


def test_a_case_that_holds(capsys):
    """Says so and returns 0."""
    assert main(["sconv", "metadata.searchsorted", CASE, "--engine", "ttir"]) == 0
    assert capsys.readouterr().out == f"holds: metadata.searchsorted for {CASE}\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["none.py", "metadata.searchsorted", CASE], "ERROR: candidate 'none.py' is no file; allowed: "),
        (["sconv", "metadata.sorted", CASE], "ERROR: property 'metadata.sorted' is unknown; allowed: batch."),
        (["sconv", "metadata.searchsorted", "Metdata()"], "ERROR: name 'Metdata' is not defined"),
    ],
)
def test_a_wrong_request(arguments, line, capsys):
    """Says in one line what is wrong and returns 4."""
    assert main([*arguments, "--engine", "ttir"]) == 4
    assert capsys.readouterr().err.startswith(line)
