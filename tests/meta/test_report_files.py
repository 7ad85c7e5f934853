"""report.md and report.html: short enough, self-contained, and no words of a candidate taken for markup."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from markupsafe import escape

from properties import tally
from properties.cases import Forward
from properties.report import markdown, page, write
from properties.report.__main__ import main
from properties.report.document import Outcome
from properties.report.markdown import MOST_BYTES, anywhere, cut, fenced
from properties.tally import Count
from tests.meta.reported import NULL_BLOCK, outcome, report, violation

NASTY = "<script>alert('|')</script> `@somebody` #12 | ]] ```"
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Reader(HTMLParser):
    """Notes tags, and whether each is closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Opens a tag."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Closes the tag that was opened last."""
        assert self.open.pop() == tag


def some_report() -> dict[str, Any]:
    """A report with a failing case, one seen beside, one that holds and one not judged."""
    tally.COUNTS.update(
        {
            "values.dense_exact": Count(judged=24, violated=3),
            "hazards.fused_sconv": Count(
                violated=1, examples={"kernel.py:7": "Violation: fused_sconv has a hazard\nAt:    kernel.py:7"}
            ),
            "metadata.refuses": Count(judged=120, edges={"padded rows", "slack"}),
            "graphs.full": Count(reasons={"no graphs here"}, excused=True),
        }
    )
    held = Outcome("tests/test_values.py::test_dense_exact[fp16]", "passed")
    return report(outcome(violation(came={2: NULL_BLOCK})), held)


def test_the_page_needs_nothing():
    """Has no script, fetches nothing, and closes what it opens; ids are there once."""
    text = page.rendered(some_report())
    tags = Reader(text).tags
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in tags}
    assert not re.search(r"url\(|@import|https?:|\bon[a-z]+=", text)
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in tags:
        assert set((attributes.get("aria-labelledby") or "").split()) <= set(ids)
        assert (attributes.get("href") or "#values.dense_exact")[1:] in ids


def test_the_page_tells_a_failure():
    """Shows headline, words, picture, heat map, case and how to see it again."""
    text = page.rendered(some_report())
    for words in (
        "out[request 1, position 5, channel 0] = 0.25, but should be 0.5",
        "came from block 0 offset 3 (the null block) head 0 d 0, but was meant to come from x[2]",
        "Not seen again in the same case.",
        "python -m pytest &#39;tests/test_values.py::test_dense_exact[bf16]&#39;",
        "fused_sconv has a hazard",
        "At:    kernel.py:7",
        "no graphs here",
        "errors in ulps, 6 rows by 3 channels",
        "Forward(geometry=Geometry(ws=3, N=4, W=4, D=3)",
    ):
        assert words in text, words
    assert text.count("<svg") == 2


def test_the_page_works_in_both_modes():
    """Gives every colour of the light mode another one in the dark."""
    colours = [set(re.findall(r"(--[a-z0-9-]+):", part)) for part in page.rendered(some_report()).split(":root {")[1:3]]
    assert "prefers-color-scheme: dark" in page.rendered(some_report())
    assert len(colours[0]) > 10
    assert colours[0] == colours[1] & colours[0]


def test_words_are_no_markup():
    """Shows what a candidate says as it said it, in a page and in a comment."""
    found = replace(violation(), but=NASTY, got=NASTY, let=NASTY)
    tally.COUNTS["values.unbiased"] = Count(reasons={NASTY})
    nasty = report(outcome(found))
    assert "<script" not in page.rendered(nasty)
    assert not {"script"} & {tag for tag, _ in Reader(page.rendered(nasty)).tags}
    outside = re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "", markdown.rendered(nasty))
    assert "<script" not in outside
    assert all(line.count("|") - line.count(r"\|") == 6 for line in outside.splitlines() if line.startswith("| "))


def test_a_picture_that_fails_costs_no_more(monkeypatch):
    """Says so in its place; the words, the case and the rest are there."""

    def broken(found):
        raise KeyError("row")

    monkeypatch.setattr(page, "pictures", broken)
    text = page.rendered(some_report())
    assert "No picture: KeyError: &#39;row&#39;" in text
    assert "Forward(geometry=Geometry(ws=3" in text


def test_the_comment():
    """Begins with the verdict, folds what holds and each failing case, and closes every fold."""
    text = markdown.rendered(some_report())
    lines = text.splitlines()
    assert lines[0] == "## ❌ <code>plain.py</code>: violated"
    assert lines[2] == "**2 violated, 1 holds, 1 not judged; 144 cases in 121 s**"
    assert "| ❌ | `values.dense_exact` | 24 | 1.2 | bf16 |" in lines
    assert "| ❌ | `hazards.fused_sconv` | 0 | 0.0 | seen while others were judged |" in lines
    assert "| ⚪ | `graphs.full` | 0 | 0.0 | no graphs here |" in lines
    assert text.count("<details>") == text.count("</details>") == 4
    assert "```sh\npython -m pytest 'tests/test_values.py::test_dense_exact[bf16]'\n```" in text


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("cd /a/judge && .venv/bin/python -m pytest t /a/judge/k.py", ".venv/bin/python -m pytest t k.py"),
        ("cd /a/judge && /usr/bin/python3 -m pytest 't[x]' '/a/my k.py'", "python -m pytest 't[x]' '../my k.py'"),
        ("cd '/a b' && python -m pytest t --candidate sconv", "python -m pytest t --candidate sconv"),
        ("cd /a/judge && python -m pytest t /tmp/k.py", "python -m pytest t /tmp/k.py"),
        ("cd /a && python -m pytest t $'a\\nb.py'", "cd /a && python -m pytest t $'a\\nb.py'"),
        ("python -m 'x", "python -m 'x"),
    ],
)
def test_a_command_for_a_reader_elsewhere(command, told):
    """Names no folder of this machine where it can do without, and is the same command in another checkout."""
    assert anywhere(command) == told
    one = outcome(violation())
    words = one.text.partition("Reproduce:")[0]
    text = markdown.rendered(report(replace(one, text=f"{words}Reproduce: {command}")))
    assert f"\nIn a checkout of the judge:\n\n```sh\n{told}\n```\n" in text


def test_a_script_is_no_command():
    """Stands beneath the command, not in it."""
    one = outcome(violation())
    found = report(replace(one, text=f"{one.text}\nScript:       /home/me/out/repro_values.py\n"))
    comment, shown = markdown.rendered(found), page.rendered(found)
    assert "```sh\npython -m pytest 'tests/test_values.py::test_dense_exact[bf16]'\n```\n" in comment
    assert "\nScript of this case: <code>repro_values.py</code>\n" in comment
    assert '<p class="script">Script of this case: /home/me/out/repro_values.py</p>' in shown
    assert "test_dense_exact[bf16]&#39;</pre>" in shown


def dtypes(*scripts: str) -> dict[str, Any]:
    """The report of a property that several dtypes violate, the smallest case first, with these lines of scripts."""
    kinds = zip(("bf16", "fp16", "fp32"), scripts, strict=False)
    found = [(replace(violation(), case=Forward(seed=10**n)), *one) for n, one in enumerate(kinds)]
    every = [(outcome(one, f"tests/test_values.py::test_dense_exact[{dtype}]"), line) for one, dtype, line in found]
    return report(*(replace(one, text=f"{one.text}\n{line}\nInstead:      cd x") for one, line in every))


def test_a_script_is_of_one_case():
    """Is named at the smallest case that has one alone, and the others say of which it is."""
    has, none = "Script:       /out/repro_v.py", "No script:    too large"
    shown = page.rendered(dtypes(has, has, none))
    told = re.findall(r'<p class="script">(.*?)</p>', shown)
    assert told == [
        "Script of this case: /out/repro_v.py",
        "No script of this case: repro_v.py is of the bf16 case",
        "No script of this case: too large; repro_v.py is of the bf16 case",
    ]
    comment = markdown.rendered(dtypes(none, has))
    assert "\nNo script of this case: too large; repro\\_v.py is of the fp16 case\n" in comment
    assert "\nNo script of this case: too large\n" in markdown.rendered(dtypes(none, none))


def test_a_case_is_replayed():
    """Stands beneath the command that runs its test, in a comment for a checkout anywhere."""
    one = outcome(violation())
    replay = "cd /a/judge && /usr/bin/python3 -m properties.replay /a/k.py values.dense_exact \"Forward(seed='1')\""
    found = report(replace(one, violation={**(one.violation or {}), "replay": replay}))
    beneath = (
        "test_dense_exact[bf16]'\npython -m properties.replay ../k.py values.dense_exact \"Forward(seed='1')\"\n```\n"
    )
    assert beneath in markdown.rendered(found)
    assert f'<pre tabindex="0">{escape(replay)}</pre>' in page.rendered(found)


def test_what_was_seen_beside_is_seen_again():
    """Has its command, and its script, in place of the words that the terminal tells them in."""
    words = (
        "Violation: fused_sconv has a hazard\nAt:    kernel.py:7\nReproduce:    cd /a && python -m properties.replay k"
    )
    example = {"kernel.py:7": f"{words}\nScript:       /out/repro_h.py"}
    tally.COUNTS["hazards.fused_sconv"] = Count(violated=1, examples=example)
    comment, shown = markdown.rendered(report()), page.rendered(report())
    assert (
        "At:    kernel.py:7\n```\n\nIn a checkout of the judge:\n\n```sh\npython -m properties.replay k\n```" in comment
    )
    assert "\nScript of this case: <code>repro_h.py</code>\n" in comment
    assert "At:    kernel.py:7</pre>" in shown
    assert "python -m properties.replay k</pre>" in shown
    assert "Script of this case: /out/repro_h.py</p>" in shown


def test_a_comment_without_failures():
    """Shows what holds, unfolded."""
    tally.COUNTS["metadata.refuses"] = Count(judged=120, edges={"padded rows", "slack"})
    lines = markdown.rendered(report(Outcome("tests/test_metadata.py::test_refuses", "passed", 0.9))).splitlines()
    assert "| ✅ | `metadata.refuses` | 120 | 0.9 |  |" in lines


@pytest.mark.parametrize(("count", "size"), [(3, 10), (40, 1_000), (40, 60_000), (3, 90_000), (300, 400)])
def test_the_comment_is_short_enough(count, size):
    """Fits whatever there is to tell, and says what it leaves out."""
    (one,) = report(outcome(replace(violation(), let="é" * (size // 2))))["properties"]
    text = markdown.rendered({**report(), "properties": [{**one, "name": f"values.p{n}"} for n in range(count)]})
    assert len(text.encode()) <= MOST_BYTES
    assert text.count("<details>") == text.count("</details>")
    told, more = text.count("<summary>❌"), re.search(r"(\d+) more failures?, told", text)
    assert told >= 1
    assert told + (int(more[1]) if more else 0) == count
    listed, rest = text.count("\n- <code>"), re.search(r"- … and (\d+) more", text)
    assert listed + (int(rest[1]) if rest else 0) == count - told


def test_dtypes_of_one_property():
    """Tells the smallest case in full and the first lines of the others, some of them."""
    found = [outcome(violation(), "tests/test_values.py::test_dense_exact[fp32]")] * 9
    small = outcome(replace(violation(), case=Forward()), "tests/test_values.py::test_dense_exact[bf16]")
    text = markdown.rendered(report(*found, small))
    assert text.count("<summary>❌") == text.count("Failing case: ") == 1
    assert "Failing case: Forward()" in text
    assert text.count("\n- <code>out[") == 5
    assert "\n- … and 4 more\n" in text


def test_the_bugs_of_one_property():
    """Have a section each, which names the bug, with its dtypes in it."""
    test = "tests/test_history.py::test_public_bugs[{}]"
    names = ("bf16-recycled_nan", "fp16-recycled_nan", "bf16-rejected_drafts")
    found = replace(violation(), property_name="history.public_bugs")
    text = markdown.rendered(report(*(outcome(found, test.format(name)) for name in names)))
    summaries = "".join(re.findall(r"<summary>❌ .*</summary>", text))
    assert re.findall(r"\((\w+), \w+\)", summaries) == ["recycled_nan", "rejected_drafts"]
    assert text.count("(recycled_nan, ") == 2


def test_cutting():
    """Says how much is left out, and never cuts a letter apart."""
    assert cut("short", 100) == "short"
    assert cut("é" * 100, 100) == "é" * 20 + " … (160 bytes more in report.json)"
    assert fenced("a ```` b", "text") == "`````text\na ```` b\n`````"


def test_files_are_made_anew(tmp_path, capsys):
    """Makes the same Markdown and page of a report.json as the run did."""
    made = write(some_report(), tmp_path / "one")
    assert [path.name for path in made] == ["report.md", "report.html", "report.json"]
    assert main([str(tmp_path / "one/report.json"), str(tmp_path / "two")]) == 0
    capsys.readouterr()
    for name in ("report.md", "report.json"):
        assert (tmp_path / "one" / name).read_text() == (tmp_path / "two" / name).read_text()
    first, second = (re.sub(r"picture-\d+", "", (tmp_path / one / "report.html").read_text()) for one in ("one", "two"))
    assert first == second


@pytest.mark.parametrize("content", ["{", "[]", json.dumps({"version": 99})])
def test_what_is_no_report_is_refused(content, tmp_path, capsys):
    """Returns 4 and one line."""
    (tmp_path / "x.json").write_text(content)
    assert main([str(tmp_path / "x.json")]) == 4
    assert capsys.readouterr().err.startswith("ERROR: ")
