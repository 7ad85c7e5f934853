"""Reproducers: each script fails as the suite did, and passes with a correct kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sconv
from properties.baseline import Baseline
from properties.candidate import load
from properties.cases import Forward, Geometry, Request
from properties.engines import choose
from properties.engines.base import Engine, Ops
from properties.invariants import cache, graphs, history, values
from properties.replays import Replays
from properties.reproducer import Unwritable, forget, reproduce, write
from properties.reproducer.making import file_name, run
from properties.reproducer.parts import NOTE, ONE_CHANNEL, READ
from properties.scenarios import SCENARIOS, scenario
from properties.surroundings import SETTINGS
from properties.verdict import Violation
from tests.meta.candidates import plain
from tests.meta.candidates.faults import FAULTS, write_faulty
from tests.meta.candidates.faults_lives import ONLY_LIVES
from tests.meta.candidates.graph_faults import FAULTS as GRAPH_FAULTS
from tests.meta.candidates.graph_faults import StaleTail
from tests.meta.judging_table import violation
from tests.meta.test_command_line import called
from tests.meta.test_explain import first_of
from tests.meta.test_graph_faults import seen
from tests.meta.test_lives import run_lives
from tests.meta.upstream_faults import UPSTREAM, UPSTREAM_FAULTS, changed

PLAIN, SCONV = str(plain.__file__), str(sconv.__file__)
# Faults that violate further properties than the first of their group: each ends a script in another way.
FURTHER = [
    ("truncates", "values.unbiased"),
    ("taps_reversed", "values.dense_exact"),
    ("taps_reversed", "values.one_hot_taps"),
    ("contiguous_pages", "values.nan_containment"),
    ("contiguous_pages", "batch.table_and_pages"),
    ("returns_x", "sizes.far_rows"),
    ("returns_x", "streams.any_order"),
    ("contiguous_pages", "sizes.far_heads"),
    ("contiguous_table", "sizes.far_table"),
    ("contiguous_x", "layout.row_stride_of_x"),
    ("drafts_kept", "schedule.rollback"),
]
# No script can be written for these, however small the case is.
UNWRITABLE = {"sizes.many_rows": "x has 524,282 rows, and a script should have at most 4,096"}
GEOMETRY = Geometry(ws=2, N=4, W=4, D=7)
# A graph that holds the rows of forward 0, which is replayed with none; drawn cases of it are too large for a script.
STALE = Replays((Forward(GEOMETRY), Forward(GEOMETRY, ())), layers=1, wide=2, inside=True)


# Likewise a table of which every entry matters.
SHRUNK = {"every_entry_checked": (cache.table_frame, Forward(Geometry(W=2), (Request(start=3),)))}


def from_file(path: Path, source: str, engine: Engine | None = None) -> Ops:
    """The operators of a candidate file with this source: a script needs a file."""
    path.write_text(source)
    return (engine or Engine()).bind(load(str(path)))


def made(folder: Path, module: str, name: str, made: str, engine: Engine | None = None) -> Ops:
    """The operators of what an expression makes of a name in a module."""
    operators = "fused_sconv, sconv_seq_metadata = MADE.fused_sconv, MADE.sconv_seq_metadata"
    return from_file(folder / "candidate.py", f"from {module} import {name}\nMADE = {made}\n{operators}\n", engine)


def check(ops: Ops, found: Violation | None, correct: str) -> str:
    """Writes the script of a violation, runs it with the faulty and with a correct kernel, and returns it."""
    assert found is not None
    script, name = reproduce(ops, found.explain()), file_name(found.property_name, found.case)
    code, printed = run(script, ops, name)
    assert code == 1
    assert is_told(found, script, printed), f"{found.headline}\nis told as\n{printed}"
    verdicts = [line for line in printed.splitlines() if line.startswith(found.property_name)]
    head = script.split('"""')[1]
    assert all(f"\n    {line[:200]}" in head for line in verdicts), f"{head}\nis of a script that prints\n{printed}"
    right = ops.engine.bind(load(correct))
    code, printed = run(script, right, name)
    assert (code, "is violated" in printed) == (0, False), printed
    return script


def is_told(found: Violation, script: str, printed: str) -> bool:
    """Whether a script tells the property and the number of a violation, or says why it is another number."""
    if found.property_name.startswith("hazards."):
        hazard = str(found.got).split(";")[0].removeprefix("has a hazard: ")
        return (hazard.split(":")[0] if NOTE in script else hazard) in printed
    number = f"= {str(found.got).split()[0]}, but should be " if found.wanted is not None else ""
    if number and "within" not in printed:  # a bound's middle is told with other digits
        number += str(found.wanted).split()[0].rstrip(",")
    is_same = number.lower() in printed or NOTE in script or "returned memory" in printed or "ulp" in printed
    return is_same and f"{found.property_name} is violated" in printed


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_on_the_host(name, tmp_path):
    """Fails with the fault and passes with the plain candidate."""
    fault = FAULTS[name]
    ops = Engine().bind(load(str(write_faulty(name, tmp_path))))
    found = of_case(ops, *SHRUNK[name]) if name in SHRUNK else first_of(ops, {fault.group}, fault.dtype)
    script = check(ops, found, PLAIN)
    if fault.group == "values" and NOTE not in script:
        assert found is not None
        assert found.spread is not None
        row, channel, _ = found.spread.elements[0]
        assert f"[{row}, {channel}] = " in run(script, ops, "repro.py")[1]


@pytest.mark.parametrize(("name", "property_name"), FURTHER)
def test_other_properties(name, property_name, tmp_path):
    """The same for properties whose scripts end in another way, or lay memory out in another."""
    ops = Engine().bind(load(str(write_faulty(name, tmp_path))))
    check(ops, violation(ops, property_name, FAULTS[name].dtype, count=30), PLAIN)


@pytest.mark.skipif(not UPSTREAM.is_file(), reason=f"judges {UPSTREAM}, which is not here")
@pytest.mark.parametrize("name", UPSTREAM_FAULTS)
def test_a_fault_of_a_kernel(name, tmp_path):
    """Fails under the machine with one changed line, hazards too, and passes with sconv."""
    ops = choose("ttir").bind(load(str(changed(name, tmp_path))))
    check(ops, first_of(ops, UPSTREAM_FAULTS[name][2], "bf16"), SCONV)


@pytest.mark.parametrize(("fault", "mode"), [(fault, modes[0]) for fault, modes in GRAPH_FAULTS.items()])
def test_a_fault_of_a_replay(fault, mode, tmp_path):
    """Captures and replays as the suite did."""
    name = fault.__name__
    ops = made(tmp_path, "tests.meta.candidates.graph_faults", name, f"{name}()", choose("ttir"))
    check(ops, of_case(ops, graphs.full, STALE) if fault is StaleTail else seen(ops, mode), SCONV)


def of_case(ops: Ops, invariant: Any, case: Any) -> Violation | None:
    """The violation by one case."""
    try:
        invariant(ops, case)
    except Violation as found:
        return found
    return None


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_public_bug(name, tmp_path):
    """Makes the calls of a life that lead to the wrong element."""
    ops = made(tmp_path, "tests.meta.test_lives", "CAUGHT", f"CAUGHT[{name!r}]()")
    check(ops, of_case(ops, history.public_bugs, scenario(name, "bf16")), PLAIN)


@pytest.mark.parametrize("name", ONLY_LIVES)
def test_a_fault_of_lives(name, tmp_path):
    """Keeps what the candidate keeps between calls."""
    kept = f"operators(ONLY_LIVES[{name!r}]())"
    ops = made(tmp_path, "tests.meta.candidates.faults_lives", "ONLY_LIVES, operators", kept)
    check(ops, run_lives(ops, 60), PLAIN)


def test_a_difference_from_the_baseline(tmp_path):
    """Holds the candidate to what the baseline gave, which the script does not need."""
    ops = Engine().bind(load(str(write_faulty("taps_reversed", tmp_path))))
    ops.baseline = Baseline(load(PLAIN), Engine())
    assert PLAIN not in check(ops, violation(ops, "baseline.fused_sconv", "bf16", count=10), PLAIN)


def test_memory_that_nobody_writes(tmp_path):
    """Holds NaN in a script as in the judge, and no number that is another in each run."""
    ops = Engine().bind(load(str(write_faulty("pad_output_unset", tmp_path))))
    found = of_case(ops, values.dense_bound, Forward(Geometry(W=2), pads=1, contents="tiny"))
    script = check(ops, found, PLAIN)
    assert "out[1, 0] = nan, but should be " in script
    assert NOTE not in script
    assert "wrong elements: 1 of the 2 compared here" in script


@pytest.mark.parametrize(("property_name", "why"), UNWRITABLE.items())
def test_what_cannot_be_written(property_name, why, tmp_path):
    """Says why in one line."""
    ops = Engine().bind(load(str(write_faulty("pad_output_unset", tmp_path))))
    found = violation(ops, property_name, "bf16", count=10)
    assert found is not None
    with pytest.raises(Unwritable, match=f"^{why}$"):
        reproduce(ops, found)


def test_one_channel_of_several(tmp_path):
    """Is all that a long script compares, and it says so, for its count is smaller than the judge's."""
    ops = Engine().bind(load(str(write_faulty("taps_reversed", tmp_path))))
    small = Forward(Geometry(W=2), (Request(length=2),))
    large = Forward(Geometry(ws=16, N=8, W=4, off_s=16, D=48), (Request(25, 5),))
    every = [of_case(ops, values.dense_exact, case) for case in (small, large)]
    assert [ONE_CHANNEL in check(ops, found, PLAIN) for found in every] == [False, True]


def test_what_does_not_fail_as_a_script(tmp_path):
    """Says what the script came to."""
    source = "from tests.meta.candidates import plain\nis_judged = __name__ != 'candidate'  # as a script loads it\n"
    source += "def fused_sconv(*given, **named):\n    return plain.fused_sconv(*given, **named) + is_judged\n"
    ops = from_file(tmp_path / "candidate.py", source)
    found = of_case(ops, values.dense_exact, Forward(Geometry(W=2)))
    assert found is not None
    words = r"does not fail as the judge told it \(exit code 0: values\.dense_exact holds in this case\)$"
    with pytest.raises(Unwritable, match=words):
        reproduce(ops, found)


def test_every_setting_of_the_process_can_be_read():
    """A script reads what the judge forbids to change."""
    assert set(READ) == {setting.name for setting in SETTINGS if setting.is_forbidden}


@pytest.mark.parametrize("name", ['a"b.py', "a'b.py", "a\nb.py", "a\\N{x}b.py", "\\\"\"\"'''.py"])
def test_a_path_with_odd_characters(tmp_path, name):
    """Is written into a script as Python writes it."""
    ops = from_file(tmp_path / name, write_faulty("taps_reversed", tmp_path).read_text())
    script = check(ops, violation(ops, "values.dense_exact", "bf16", count=10), PLAIN)
    assert f"else {str(tmp_path / name)!r}\n" in script


@pytest.mark.parametrize("is_turned", [False, True])
def test_of_several_scripts_that_of_the_smallest_case_stays(tmp_path, is_turned):
    """Is of the case that everything else tells in full, whichever dtype is judged first and whichever is shorter."""
    ops = Engine().bind(load(str(write_faulty("taps_reversed", tmp_path))))
    small = Forward(Geometry(W=6), (Request(length=9),))
    large = Forward(Geometry(W=2, dtype="fp16"), (Request(length=2),))
    for case in (large, small)[:: -1 if is_turned else 1]:
        found = of_case(ops, values.dense_exact, case)
        assert found is not None
        path = write(tmp_path, ops, found)
    assert f"Failing case: {small!r}\n" in path.read_text()


def test_the_option_writes_scripts(tmp_path):
    """Names the script beside the failure, and takes away those of an earlier run alone."""
    (tmp_path / "repro_old.py").write_text('"""Violation: of an earlier run\n"""\n')
    (tmp_path / "repro_mine.py").write_text("# another's\n")
    kernel = write_faulty("taps_reversed", tmp_path)
    options = ("-p", "no:cacheprovider", "--reproducers", str(tmp_path), "--candidate", str(kernel))
    code, printed = called(*options, "--engine", "interpreter", "tests/test_values.py::test_dense_exact[fp32]")
    assert code == 1
    assert f"Script:       {tmp_path}/repro_values_dense_exact.py" in printed
    assert sorted(path.name for path in tmp_path.glob("repro_*")) == ["repro_mine.py", "repro_values_dense_exact.py"]
    forget(tmp_path)
    assert [path.name for path in tmp_path.glob("repro_*")] == ["repro_mine.py"]
