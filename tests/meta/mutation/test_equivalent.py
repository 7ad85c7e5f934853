"""What is listed as equivalent exists, is argued, and is little."""

from __future__ import annotations

from pathlib import Path

import pytest

from properties.mutation.operators import mutants
from properties.mutation.results import equivalents
from properties.mutation.running import Target
from properties.mutation.source import Source

ROOT = Path(__file__).parents[3]
UPSTREAM = ROOT.parent / "shared/upstream/inkling_sconv.py"
PATHS = [
    ROOT / "sconv",
    pytest.param(UPSTREAM, marks=pytest.mark.skipif(not UPSTREAM.is_file(), reason=f"reads {UPSTREAM}, not here")),
]


@pytest.mark.parametrize("path", PATHS, ids=["sconv", "upstream"])
def test_equivalent_mutants_exist_and_are_argued(path):
    """Names mutants of today's file, each with a sentence, at most a tenth of all."""
    keys = {mutant.key for file in Target(path).files for mutant in mutants(Source.read(file))}
    listed = equivalents(path.name)
    assert set(listed) - keys == set()
    assert [key for key, reason in listed.items() if len(reason.split()) < 6] == []
    assert 0 < len(listed) <= len(keys) / 10
