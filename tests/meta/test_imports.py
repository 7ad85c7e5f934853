"""Who may know whom: imports run in the directions of the design, and nowhere else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STANDARD = {"torch", "numpy"}


def imported(path: Path) -> set[str]:
    """Every absolute module a file imports, by dotted name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            home = path.relative_to(ROOT).with_suffix("").parts[: -node.level] if node.level else ()
            module = ".".join([*home, *filter(None, [node.module])])
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return found


def files(folder: str) -> list[Path]:
    """The Python files of a folder, by path."""
    return sorted((ROOT / folder).rglob("*.py"))


def offenders(paths: list[Path], *forbidden: str) -> list[str]:
    """Which of the files import one of the forbidden packages."""
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in paths
        for name in sorted(imported(path))
        if any(name == one or name.startswith(one + ".") for one in forbidden)
    ]


def test_kernels_know_no_judge():
    """sconv imports torch and triton only, reference torch only, and neither the other."""
    everyone = ("properties", "tests", "benchmarks", "hypothesis", "pytest", "numpy")
    assert offenders(files("sconv"), "reference", *everyone) == []
    assert offenders(files("reference"), "sconv", "triton", *everyone) == []


def test_the_judge_knows_no_kernel():
    """properties never imports sconv or the tests."""
    assert offenders(files("properties"), "sconv", "tests", "benchmarks", "conftest") == []


def test_only_strategies_draw():
    """Inside properties, only strategies, rules and what measures them import Hypothesis; nothing imports pytest."""
    drawing = ("strategies.py", "size_strategies.py", "graph_strategies.py", "rules.py", "quality.py")
    assert offenders([path for path in files("properties") if path.name not in drawing], "hypothesis") == []
    assert offenders(files("properties"), "pytest") == []


def test_cases_hold_no_tensors():
    """What describes cases imports neither torch nor triton."""
    describing = ("cases", "paging", "lives", "pool", "books", "scenarios", "reducing", "rules")
    assert offenders([ROOT / f"properties/{name}.py" for name in describing], "torch", "triton") == []


def test_invariants_know_no_engine():
    """Invariants see operators, not how they are run."""
    assert offenders(files("properties/invariants"), "properties.engines", "properties.ttir", "triton") == []


def test_only_the_frontend_touches_triton_internals():
    """Every touch of Triton inside the judge is in ttir/frontend.py, or in the shim for a candidate's import."""
    allowed = {ROOT / "properties/ttir/frontend.py", ROOT / "properties/candidate.py"}
    assert offenders([path for path in files("properties") if path not in allowed], "triton") == []


@pytest.mark.parametrize("folder", ["sconv", "reference", "properties", "benchmarks", "tests"])
def test_files_stay_small(folder):
    """No file passes 300 lines; past that the cut is wrong."""
    assert {str(p): n for p in files(folder) if (n := len(p.read_text().splitlines())) > 300} == {}
