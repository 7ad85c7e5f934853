"""`python -m properties.merge`: the reports of shards as one, and what are no shards of one run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from properties import merge
from properties.report.markdown import rendered
from properties.report.merging import merged
from properties.shards import Shard
from tests.meta.candidates.faults import write_faulty
from tests.meta.reported import CASE, RUN, outcome, report, violation
from tests.meta.test_command_line import called
from tests.meta.test_report_data import faults

EXACT, EXACT_TEST = "values.dense_exact", "tests/test_values.py::test_dense_exact[bf16]"


def shard(index: int, count: int = 2, **changes: Any) -> dict[str, Any]:
    """The report of a shard in which one property held in 10 cases; `changes` are those of the property."""
    made = report(run=RUN)
    one = {
        "name": EXACT, "group": "values", "sentence": "", "operator": "fused_sconv", "verdict": "holds", "reasons": [],
        "is_excused": False, "elsewhere": [], "is_left": False, "unreached": [], "replays": 0, "cases": 10,
        "seen_violated": 0, "edges": [], "seconds": 1.0, "dtypes": {"bf16": "holds"}, "violations": [],
        "tests": [{"id": EXACT_TEST, "outcome": "passed", "seconds": 1.0}], "seen_beside": [],
    }  # fmt: skip
    made["properties"] = [{**one, **changes}]
    verdict = made["properties"][0]["verdict"]
    code = int(verdict == "violated" or (verdict == "not judged" and not made["properties"][0]["is_excused"]))
    made["run"] |= {"shard": f"{index}/{count}", "exit_code": code}
    made["verdict"] = "violated" if verdict == "violated" else "not judged" if code else "holds"
    made["totals"]["cases"] = made["properties"][0]["cases"]
    return made


def together(*reports: dict[str, Any]) -> dict[str, Any]:
    """The merged report, which keeps to the schema and can be told."""
    made = merged({Shard.read(one["run"]["shard"]): one for one in reports})
    assert faults(made) == []
    assert rendered(made)
    assert merge.lines(made)
    return made


def test_cases_are_added_up():
    """Sums cases and seconds, joins edges, and takes the longest shard's time."""
    first, second = shard(1, edges=["a"], seconds=2.5), shard(2, cases=32, edges=["b"])
    second["run"]["seconds"] = 200.0
    made = together(first, second)
    (one,) = made["properties"]
    assert (one["verdict"], one["cases"], one["edges"], one["seconds"]) == ("holds", 42, ["a", "b"], 3.5)
    assert one["tests"] == [{"id": EXACT_TEST, "outcome": "passed", "seconds": 2.0}]
    assert (made["verdict"], made["run"]["exit_code"], made["run"]["seconds"]) == ("holds", 0, 200.0)
    assert made["totals"]["cases"] == 42
    assert made["shards"]["missing"] == made["shards"]["notes"] == []


def test_violated_anywhere_is_violated():
    """Tells the smallest case of each test, with its shard."""
    small, large = violation(), violation(replace(CASE, pads=7777))
    found = [
        {"test": EXACT_TEST, "dtype": "bf16", "text": outcome(one).text, **(outcome(one).violation or {})}
        for one in (large, small)
    ]
    reports = [shard(n + 1, 3, verdict="violated", violations=[one]) for n, one in enumerate(found)]
    made = together(*reports, shard(3, 3))
    (one,) = made["properties"]
    assert (made["verdict"], made["run"]["exit_code"], one["verdict"]) == ("violated", 1, "violated")
    assert [(each["case"], each["shard"]) for each in one["violations"]] == [(found[1]["case"], "2/3")]
    assert "(bf16, shard 2/3)" in rendered(made)


@pytest.mark.parametrize(
    ("one", "other", "verdict", "code", "reasons"),
    [
        ({"verdict": "not judged", "reasons": ["lost"]}, {}, "not judged", 1, ["shard 1/2: lost"]),
        ({"verdict": "not judged", "reasons": ["no tl"], "is_excused": True}, {}, "not judged", 0,
         ["shard 1/2: no tl", "holds in shard 2/2"]),
        ({"verdict": "not judged", "reasons": ["no case reached: b"], "unreached": ["b"], "edges": ["a"]},
         {"edges": ["b"]}, "holds", 0, []),
        ({"verdict": "not judged", "reasons": ["no case reached: b"], "unreached": ["b"], "edges": ["a"]},
         {"verdict": "not judged", "reasons": ["no case reached: b"], "unreached": ["b"], "edges": ["a"]},
         "not judged", 1, ["no case of any shard reached: b"]),
        ({"verdict": "not judged", "reasons": ["left to shard 2/2"], "elsewhere": ["2/2"], "is_left": True,
          "is_excused": True, "cases": 0}, {}, "holds", 0, []),
        ({"elsewhere": ["2/2"]}, {"tests": []}, "not judged", 1,
         ["left to shard 2/2, which did not run all of its tests"]),
        ({"replays": 1, "reasons": ["1 replay"]}, {"replays": 1_200, "reasons": ["1,200 replays"]}, "holds", 0,
         ["1,201 replays"]),
    ],
    ids=["lost", "excused", "reached by another", "reached by none", "left", "left but not run", "replays"],
)  # fmt: skip  # a case a paragraph
def test_the_verdict_on_a_property(one, other, verdict, code, reasons):
    """Holds where every shard's part was judged; else says in which shard it was not, and why."""
    made = together(shard(1, **one), shard(2, **other))
    (found,) = made["properties"]
    assert (found["verdict"], found["reasons"], made["run"]["exit_code"]) == (verdict, reasons, code)


def test_a_missing_shard():
    """Is named, and leaves the run and what was left to it unjudged."""
    made = together(shard(1, 3, elsewhere=["3/3"]), shard(2, 3))
    assert made["shards"]["missing"] == ["3/3"]
    assert (made["verdict"], made["run"]["exit_code"]) == ("not judged", 1)
    assert made["properties"][0]["reasons"] == ["left to shard 3/3, which is missing"]
    assert "- Missing: shard 3/3\n" in rendered(made)
    assert "shard 3/3      missing" in merge.lines(made)
    assert together(shard(1, 2))["verdict"] == "not judged"


def test_what_a_shard_does_not_say():
    """Fails over a shard that was ended, or failed over what no verdict tells, and over a test of the judge's own."""
    for change, note in (
        (lambda one: one["run"].update(exit_code=2), "shard 2/2 ended with exit code 2"),
        (
            lambda one: one.update(verdict="not judged", run={**one["run"], "exit_code": 1}),
            "shard 2/2 ended with exit code 1, and its verdicts do not say why",
        ),
        (lambda one: one["other_tests"].update(failed=1), None),
        (lambda one: one["configurations"].update(kernel={"BLOCK=4": 0}), None),
    ):
        second = shard(2)
        change(second)
        made = together(shard(1), second)
        assert (made["verdict"], made["run"]["exit_code"]) == ("not judged", 1)
        assert made["shards"]["notes"] == ([note] if note else [])


def test_a_configuration_that_ran_in_one_shard():
    """Is judged, though it fails the shard in which it never ran."""
    first, second = shard(1), shard(2)
    first["configurations"] = {"kernel": {"BLOCK=4": 0, "BLOCK=8": 5, "BLOCK=16": -1}}
    second["configurations"] = {"kernel": {"BLOCK=4": 3, "BLOCK=8": 5, "BLOCK=16": -1}}
    first["run"]["exit_code"], first["verdict"] = 1, "not judged"
    made = together(first, second)
    assert made["configurations"] == {"kernel": {"BLOCK=4": 3, "BLOCK=8": 10, "BLOCK=16": -1}}
    assert made["run"]["exit_code"] == 0


def test_what_differs_is_named():
    """Says in one line which versions, seeds, profiles and engines differ."""
    second = shard(2)
    second["versions"]["triton"] = "3.6.0"
    second["run"]["seed"] = None
    notes = together(shard(1), second)["shards"]["notes"]
    assert notes[0] == "the seed differs: 7 in shard 1/2; drawn anew in shard 2/2"
    assert notes[1].startswith("versions differ: hypothesis ")
    assert notes[1].endswith(", triton 3.6.0 in shard 2/2")
    assert len(notes) == 2


def written(folder: Path, made: object) -> str:
    """A folder with a report."""
    folder.mkdir()
    (folder / "report.json").write_text(made if isinstance(made, str) else json.dumps(made))
    return str(folder)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda one: one["run"].update(shard="1/2"), "shard 1/2 is there twice: {0}/report.json and {1}/report.json"),
        (lambda one: one["run"].update(shard="2/3"), "the number of shards differs: 2 in shard 1/2; 3 in shard 2/3"),
        (lambda one: one["run"].pop("shard"), "{1}/report.json is of a run without --shard"),
        (
            lambda one: one["candidate"].update(sha256="else"),
            "the candidate differs: sha256 none in shard 1/2; sha256 else in shard 2/2",
        ),
        (lambda one: one.update(version=2), "{1}/report.json is no report of version 1"),
    ],
    ids=["twice", "count", "no shard", "candidate", "version"],
)
def test_what_is_no_run(change, line, tmp_path, capsys):
    """Is refused in one line, exit code 4, and writes nothing."""
    second = shard(2)
    change(second)
    folders = [written(tmp_path / name, one) for name, one in (("a", shard(1)), ("b", second))]
    assert merge.main([*folders, "--report", str(tmp_path / "out")]) == 4
    assert capsys.readouterr() == ("", f"ERROR: {line.format(*folders)}\n")
    assert not (tmp_path / "out").exists()


def test_a_wrong_request(tmp_path, capsys):
    """Is told in one line: no folder, none that exists, none of its own for the result, text that is no JSON."""
    first, broken = written(tmp_path / "a", shard(1)), written(tmp_path / "b", "{")
    for arguments in ([], ["no/such"], [first, broken], [first, "--report", first], ["--nonsense", first]):
        assert merge.main(arguments) == 4
        said = capsys.readouterr().err
        assert said.startswith("ERROR: ")
        assert len(said.splitlines()) == 1


def test_two_shards_of_a_run(tmp_path, capsys):
    """Merges what two runs leave: the files again, and a table on the terminal."""
    kernel, folders = str(write_faulty("search_one_step_short", tmp_path)), []
    for index in (1, 2):
        folders.append(str(tmp_path / str(index)))
        asked = ("--shard", f"{index}/2", "--hypothesis-seed", "5", "--candidate", kernel, "--report", folders[-1])
        code, printed = called("-n", "1", *asked, "tests/test_metadata.py")
        assert code == 1, printed
    assert merge.main([*folders, "--report", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().out
    made = json.loads((tmp_path / "out/report.json").read_text())
    parts = [json.loads((Path(folder) / "report.json").read_text()) for folder in folders]
    assert faults(made) == []
    assert made["totals"]["cases"] == sum(part["totals"]["cases"] for part in parts)
    assert {one["name"]: one["verdict"] for one in made["properties"]}["metadata.refuses"] == "holds"
    assert printed.startswith("Violation: ")
    assert printed.count("Failing case: ") == 1
    assert "\nviolated   metadata.searchsorted\n" in printed
    assert "- Shards: 1/2 violated, " in (tmp_path / "out/report.md").read_text()
    assert "metadata.searchsorted" in (tmp_path / "out/report.html").read_text()
