"""A seed gives the same cases in every process, whatever else that has imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

DRAW = """
from hypothesis import Phase, given, seed, settings
from properties.strategies import forwards

@settings(max_examples=150, database=None, deadline=None, phases=[Phase.generate])
@seed(5)
@given(forwards())
def show(case):
    print(case)

show()
"""


def drawn(before: str) -> str:
    """What a process draws that has run something before."""
    found = subprocess.run([sys.executable, "-c", before + DRAW], capture_output=True, text=True, check=True)
    return found.stdout


@pytest.mark.parametrize("what", ["more of the judge", "another candidate"])
def test_what_is_imported_changes_no_draw(what, tmp_path):
    """Draws the same after modules with constants of their own were imported."""
    kernel = tmp_path / "kernel.py"
    kernel.write_text("NUMBERS = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59)\n")
    before = {
        "more of the judge": "import properties.mutation.__main__, properties.report, properties.reproducer\n",
        "another candidate": f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport kernel\n",
    }[what]
    alone = drawn("")
    assert alone.count("Forward(") >= 150
    assert drawn(before) == alone
