"""The candidate loader: what it accepts, and the one line it says otherwise."""

from __future__ import annotations

import sys

import pytest

from properties.candidate import ALLOWED, BadCandidate, load

FUSED = (
    "def fused_sconv(x, weight, cache, positions, block_table, seq_idx, slot_mapping, query_start, off_s, ws,"
    " block_size, activation=None, use_residual=True):\n    return x\n"
)


def written(tmp_path, text, name="kernel.py"):
    """A candidate file with that text."""
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def refusal(target):
    """The one line with which a candidate is refused."""
    with pytest.raises(BadCandidate) as caught:
        load(target)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_file_with_one_operator(tmp_path):
    """Accepts a file that offers one of the two, and says which is missing."""
    path = written(tmp_path, FUSED)
    one = load(path)
    assert list(one.operators) == ["fused_sconv"]
    assert one.missing == ("sconv_seq_metadata",)
    assert len(one.digest) == 12
    assert one.title == f"{path} (sha256 {one.digest})"


def test_a_module_name():
    """Accepts a dotted module name."""
    assert load("sconv").missing == ()


def test_a_path_relative_to_a_folder(tmp_path):
    """Resolves a relative path against the folder the command was given in."""
    written(tmp_path, FUSED)
    assert load("kernel.py", tmp_path).path == tmp_path / "kernel.py"


def test_the_shim(tmp_path):
    """Supplies vllm.triton_utils while the file is executed, and takes it away again."""
    path = written(tmp_path, "from vllm.triton_utils import tl, triton\nassert triton.jit and tl.load\n" + FUSED)
    load(path)
    assert "vllm" not in sys.modules


def test_extra_arguments_with_defaults(tmp_path):
    """Accepts further parameters that have defaults."""
    load(written(tmp_path, FUSED.replace("use_residual=True", "use_residual=True, num_warps=4")))


def test_a_missing_file():
    """Names the file and what is allowed."""
    assert refusal("no/such.py") == f"candidate 'no/such.py' is no file; allowed: {ALLOWED}"


def test_a_syntax_error(tmp_path):
    """Names file, line and fault."""
    path = written(tmp_path, "x = 1\ndef f(:\n")
    assert refusal(path) == f"candidate {path!r} is not Python: invalid syntax (kernel.py:2)"


def test_an_import_that_cannot_be_met(tmp_path):
    """Names the module, and the only one that is supplied."""
    path = written(tmp_path, "import vllm.attention\n")
    assert refusal(path) == (
        f"candidate {path!r} imports what is not here: No module named 'vllm.attention' "
        "(kernel.py:1; vllm.triton_utils is the only module supplied where it is absent)"
    )


@pytest.mark.parametrize("name", ["no_such_package", "sconv.no_such", "reference.dense.x"])
def test_a_module_that_cannot_be_found(name):
    """Says that there is no such module, and what is allowed."""
    assert refusal(name) == f"candidate {name!r} is no module that can be found; allowed: {ALLOWED}"


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "sconv."])
def test_what_is_no_module_name(name):
    """Says what a candidate must be."""
    assert refusal(name) == f"candidate {name!r} is neither a .py file nor a module name; allowed: {ALLOWED}"


def test_no_operator_at_all(tmp_path):
    """Says what a candidate must offer."""
    path = written(tmp_path, "x = 1\n")
    assert refusal(path) == f"candidate {path!r} offers no operator; allowed: {ALLOWED}"


def test_a_file_that_raises_or_exits(tmp_path):
    """Names the exception, also where the file ends the process."""
    path = written(tmp_path, "raise RuntimeError('no GPU\\nhere')\n")
    assert refusal(path) == f"candidate {path!r} fails when executed: RuntimeError: no GPU here (kernel.py:1)"
    path = written(tmp_path, "raise SystemExit(3)\n", "leaves.py")
    assert refusal(path) == f"candidate {path!r} fails when executed: SystemExit: 3 (leaves.py:1)"
    path = written(tmp_path, "import pytest\npytest.skip('not here', allow_module_level=True)\n", "skips.py")
    assert "fails when executed: Skipped: not here" in refusal(path)


def test_a_wrong_signature(tmp_path):
    """Shows the signature found and the one wanted."""
    path = written(tmp_path, FUSED.replace("x, weight", "weight, x"))
    assert "fused_sconv(weight, x, cache," in refusal(path)
    assert "must take (x, weight, cache," in refusal(path)
    path = written(tmp_path, FUSED.replace("use_residual=True", "use_residual=True, *, eps"), "more.py")
    assert refusal(path).endswith("fused_sconv needs eps, which the contract does not pass")


def test_other_defaults(tmp_path):
    """Names the default found and the one that the contract has."""
    path = written(tmp_path, FUSED.replace("use_residual=True", "use_residual=False"))
    assert refusal(path).endswith("fused_sconv: the default of use_residual is False, but must be True")
    path = written(tmp_path, FUSED.replace("activation=None, use_residual=True", "activation, use_residual"), "none.py")
    assert refusal(path).endswith("fused_sconv: the default of activation is none, but must be None")


def test_an_operator_that_is_no_function(tmp_path):
    """Says what stands in the operator's place."""
    path = written(tmp_path, "fused_sconv = 3\n")
    assert refusal(path) == f"candidate {path!r} has a wrong operator: fused_sconv is 3, not a function"


@pytest.mark.parametrize("role", ["candidate", "baseline"])
def test_a_path_that_is_no_text(role):
    """Is refused, also for the kernel to compare with."""
    with pytest.raises(BadCandidate, match=rf"^{role} .* has bytes in its path that are no UTF-8, "):
        load("a\udcff.py", role=role)
