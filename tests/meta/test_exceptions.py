"""What a candidate raises: told on one line whatever it is named, and known again though its text or class is new."""

from __future__ import annotations

import pytest

from properties.cases import Metadata
from properties.invariants import cache, metadata, values
from properties.printable import LONGEST, LONGEST_NAME, class_name, one_line
from properties.reproducer import Unwritable, reproduce
from properties.verdict import Violation
from tests.meta.test_bad_input import CALLS, CASE, GOOD, ops_of, written
from tests.meta.test_command_line import called

ODD = 'type("Bad\\nName" + "x" * 999, (Exception,), {"__module__": "a\\nb"})("text\\n" + "y" * 9999)'
# What stands in the candidate's line, the name that is told, and what a script of it prints.
RAISED = {
    "a class of its own each time": ("class Odd(Exception): pass", "raise Odd('no good')", "raised Odd on a case"),
    "a text of its own each time": ("calls.append(0)", "raise KeyError(len(calls))", "raised KeyError on a case"),
    "a name of two lines": ("pass", f"raise {ODD}", "raised Bad\\nNamexxx"),
}
SMALLEST = "Failing case: Forward()"


def raising(first, second):
    """A candidate that does two things in place of its work."""
    return CALLS.format(f"{first}\n    {second}") + "calls = []\n"


@pytest.mark.parametrize("kind", RAISED)
def test_what_is_raised_in_every_case(tmp_path, kind):
    """Is told by the smallest case, as seen again, with a script that fails alike."""
    first, second, told = RAISED[kind]
    path = written(tmp_path, raising(first, second))
    options = ("-p", "no:cacheprovider", "--candidate", str(path), "--engine", "ttir", "--reproducers", str(tmp_path))
    code, printed = called(*options, "tests/test_values.py::test_dense_exact[bf16]")
    assert code == 1
    (headline,) = (line for line in printed.splitlines() if line.startswith("Violation: "))
    assert headline.startswith(f"Violation: fused_sconv {told}")
    assert headline.endswith("   [values.dense_exact]")
    assert SMALLEST in printed.splitlines()
    assert "in the same case" not in printed
    assert "No script" not in printed
    assert (tmp_path / "repro_values_dense_exact.py").is_file()


def found_by(ops, invariant=values.dense_exact, case=CASE):
    """The violation of a case."""
    with pytest.raises(Violation) as caught:
        invariant(ops, case)
    return caught.value


def test_another_exception(tmp_path):
    """Is not taken for the one that was seen: at another line, or of another class; the text says nothing."""
    lines = ("raise KeyError(1)", "raise KeyError(2)", "raise IndexError(1)")
    one, other_text, other_class = (found_by(ops_of(tmp_path, raising("pass", line))) for line in lines)
    elsewhere = found_by(ops_of(tmp_path, raising("pass\n    pass", lines[0])))
    other_text.at = one.at  # which shows the line's text
    assert one.is_like(other_text)
    assert not one.is_like(other_class)
    assert not one.is_like(elsewhere)


def test_another_violation_in_the_same_case(tmp_path):
    """Is named where no script can be written for the one that was told."""
    ops = ops_of(tmp_path, raising("calls.append(0)", "raise KeyError if len(calls) == 1 else IndexError(len(calls))"))
    found = found_by(ops)
    with pytest.raises(Unwritable, match=r"^judged again to record it, the case gave another violation: Violation: "):
        reproduce(ops, found)


@pytest.mark.parametrize(
    ("line", "invariant"),
    [
        ("return type('a\\nb', (), {})()", values.dense_exact),
        ("return type('a\\nb', (torch.Tensor,), {'__torch_dispatch__': None})()", values.dense_exact),
        (f"exec({f'raise {ODD}'!r})", values.dense_exact),
        (f"exec(compile({f'raise {ODD}'!r}, 'a\\nb', 'exec'))", cache.process_frame),
    ],
    ids=["what is returned", "a tensor of its own class", "a message", "a file's name"],
)
def test_one_line_each(tmp_path, line, invariant):
    """Has no line's end in its first line and its *At*, and neither is longer than a screen or two."""
    found = found_by(ops_of(tmp_path, CALLS.format(line)), invariant)
    for words in (found.headline, found.at):
        assert words.isprintable()
        assert len(words) < LONGEST + LONGEST_NAME + 200


def test_what_should_be_refused(tmp_path):
    """Is told on one line too."""
    text = GOOD + (
        "def sconv_seq_metadata(query_start_loc, num_reqs, num_actual_tokens, seq_idx_out, query_start_out,"
        f" num_padded_tokens=None):\n    raise {ODD}\n"
    )
    found = found_by(ops_of(tmp_path, text), metadata.refuses, Metadata())
    assert found.headline.isprintable()
    assert ", but should raise ValueError: text yyy" in found.headline


def test_names_and_messages():
    """Are shortened, and told whatever a class does to hide them."""
    hidden = type("Hidden", (type,), {"__name__": property(lambda kind: 1 / 0)})("Shown", (Exception,), {})
    assert class_name(hidden) == "Shown"
    assert class_name(type("x" * 999, (), {})) == "x" * (LONGEST_NAME - 1) + "…"
    assert len(one_line(ValueError("x" * 10**6))) < LONGEST
    assert one_line(ValueError(f"begin {'x' * 10**6} the reason")).endswith("the reason")
