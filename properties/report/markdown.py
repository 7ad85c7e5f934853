"""The report in Markdown, short enough for a comment on a pull request."""

from __future__ import annotations

import html
import os
import re
import shlex
from pathlib import Path
from typing import Any

from properties.number_words import counted
from properties.printable import shell_word
from properties.report.document import environment_lines, failing, reproduction, scripts, totals_line, variant
from properties.verdict import HOLDS, NOT_JUDGED, VIOLATED

MOST_BYTES = 65_000  # a comment takes 65,536 characters; the rest is for what a workflow may put around it
MOST_OF_SECTION = 8_000  # bytes of one failing case: a life may be long
MOST_LINES = 24  # about the environment: an autotuned kernel has a line for each configuration
MOST_OTHERS = 5  # failing cases of a property that are told in a line each
MARKS = {HOLDS: "✅", VIOLATED: "❌", NOT_JUDGED: "⚪"}
Report = dict[str, Any]


def rendered(report: Report) -> str:
    """Verdict, properties, environment, and failing cases in folded sections, cut where a comment would be too long."""
    failures = [(one, found) for one in failing(report) for found in _told_apart(one)]
    head = "\n".join([*_verdict(report), "", *_table(report, bool(failures)), "", *_environment(report), ""])
    head = cut(head, MOST_BYTES - 2_000)
    room = MOST_BYTES - _bytes(head) - 500
    told: list[str] = []
    for number, (one, found) in enumerate(failures):
        section = _section(one, *found)
        left = [_headline(others[0]) for _, others in failures[number:]]
        if _bytes(section) > room - min(2_000, _bytes("\n".join(left))):
            told += _unfolded(left, room)
            break
        told.append(section)
        room -= _bytes(section) + 1
    return "\n".join([head, *told]).rstrip() + "\n"


def _told_apart(one: Report) -> list[list[Report]]:
    """What is to be told of a property, one list for each bug where its tests are of several."""
    found: dict[str, list[Report]] = {}
    for each in _found(one):
        found.setdefault(variant(each.get("test", "")), []).append(each)
    return list(found.values())


def _found(one: Report) -> list[Report]:
    """What is to be told of a property: its own violations, or what was seen of it while another was judged."""
    beside = [{"text": text, "headline": text.partition("\n")[0], "dtype": None} for text in one["seen_beside"]]
    return one["violations"] or (beside if one["verdict"] == VIOLATED else [])


def _verdict(report: Report) -> list[str]:
    name = report["candidate"]["path"] or report["candidate"]["name"]
    short = name.rpartition("/")[2]
    verdict = report["verdict"]
    return [f"## {MARKS[verdict]} {code(short)}: {verdict}", "", f"**{totals_line(report)}**"]


def _table(report: Report, has_failures: bool) -> list[str]:
    """A row for each property; where something fails, those that hold are folded away."""
    rows = {kind: [one for one in report["properties"] if one["verdict"] == kind] for kind in MARKS}
    if not has_failures:
        return _rows([*rows[NOT_JUDGED], *rows[HOLDS], *rows[VIOLATED]])
    told = _rows([*rows[VIOLATED], *rows[NOT_JUDGED]])
    held = ["<details>", f"<summary>{len(rows[HOLDS])} hold</summary>", "", *_rows(rows[HOLDS]), "", "</details>"]
    return [*told, "", *held] if rows[HOLDS] else told


def _rows(properties: list[Report]) -> list[str]:
    lines = ["| | property | cases | seconds | |", "|---|---|--:|--:|---|"]
    for one in properties:
        dtypes = [dtype for dtype, verdict in one["dtypes"].items() if verdict == one["verdict"] == VIOLATED]
        reason = "; ".join([", ".join(dtypes), *one["reasons"]] if dtypes else one["reasons"])
        lines.append(
            f"| {MARKS[one['verdict']]} | `{one['name']}` | {one['cases']:,} | {one['seconds']:.1f} | {_cell(reason)} |"
        )
    return lines


def _environment(report: Report) -> list[str]:
    told = environment_lines(report)
    lines = [f"- {name}: {_cell(words)}" for name, words in told[:MOST_LINES]]
    lines += [f"- … {len(told) - MOST_LINES} more lines in report.html"] if len(told) > MOST_LINES else []
    return ["<details>", "<summary>Environment</summary>", "", *lines, "", "</details>"]


def _section(one: Report, found: Report, *others: Report) -> str:
    """One property, folded: its smallest failing case in full, how to see it again, first lines of the others."""
    command, _ = reproduction(found["text"])
    again = "\n".join(filter(None, (anywhere(command), anywhere(found.get("replay", "")))))
    text = found["text"].partition("Reproduce:")[0].strip() if again else found["text"].strip()
    script = _script(*scripts([found, *others])[0])
    body = cut(text, MOST_OF_SECTION)
    parts = [
        "<details>",
        f"<summary>{MARKS[VIOLATED]} {_headline(found)}</summary>",
        "",
        one["sentence"] and _cell(one["sentence"]),
        "",
        fenced(body, "text"),
        *(["", "In a checkout of the judge:", "", fenced(cut(again, 2_000), "sh")] if again else []),
        *(["", script] if script else []),
        *(["", *(f"- {_headline(other)}" for other in others[:MOST_OTHERS])] if others else []),
        *([f"- … and {len(others) - MOST_OTHERS} more"] if len(others) > MOST_OTHERS else []),
        "",
        "</details>",
    ]
    return "\n".join(parts)


def _script(path: str, why: str) -> str:
    """The script of this case, or why it has none."""
    if path:
        return f"Script of this case: {code(Path(path).name)}"
    return f"No script of this case: {_cell(why)}" if why else ""


def anywhere(command: str) -> str:
    """A command for a reader whose checkout lies elsewhere: without the way to this one, paths relative to it."""
    try:
        cd, root, also, python, *words = shlex.split(command)
    except ValueError:
        return command
    if (cd, also) != ("cd", "&&") or "$'" in command:
        return command
    program = "python" if Path(python).is_absolute() else python
    return " ".join(map(shell_word, [program, *(_beside(word, root) for word in words)]))


def _beside(word: str, root: str) -> str:
    """A path relative to the checkout where it lies inside or beside it; any other word as it is."""
    relative = os.path.relpath(word, root) if Path(word).is_absolute() else word
    return word if relative.startswith(os.path.join("..", "..")) else relative


def _headline(found: Report) -> str:
    """A violation's first line without its first word, as HTML that links nobody."""
    shard = f"shard {found['shard']}" if "shard" in found else ""
    which = ", ".join(filter(None, (variant(found.get("test", "")), found.get("dtype"), shard)))
    words = found["headline"].removeprefix("Violation: ")
    return f"<code>{html.escape(cut(' '.join(words.split()), 400))}</code>{f' ({which})' * bool(which)}"


def _unfolded(left: list[str], room: int) -> list[str]:
    """The failures that no section has room for: their first lines, as many as fit, and how many there are."""
    more = counted(len(left), "more failure")
    lines = [f"{more}, told in full in report.html:", ""]
    for number, line in enumerate(left):
        room -= _bytes(line) + 3
        if room < 200:
            return [*lines, f"- … and {len(left) - number} more"]
        lines.append(f"- {line}")
    return lines


def _cell(text: str) -> str:
    """Words as they stand, on one line of a table or list, at most 300 bytes of them."""
    safe = html.escape(cut(" ".join(text.split()), 300), quote=False)
    return re.sub(r"([\\|*_`\[\]#@~])", r"\\\1", safe)


def code(text: str) -> str:
    """Words in code letters, whatever they hold."""
    return f"<code>{html.escape(' '.join(text.split()))}</code>"


def fenced(text: str, language: str) -> str:
    """A block of code, its fence longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def cut(text: str, most: int) -> str:
    """At most so many bytes of a text, and how many were left out."""
    if _bytes(text) <= most:
        return text
    kept = text.encode()[: most - 60].decode(errors="ignore")
    return f"{kept} … ({_bytes(text) - _bytes(kept):,} bytes more in report.json)"


def _bytes(text: str) -> int:
    return len(text.encode())
