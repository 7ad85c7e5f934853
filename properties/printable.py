"""Text of a candidate that a terminal, a page and a worker's channel can take."""

from __future__ import annotations

import shlex

LONGEST = 400  # characters of a message
LONGEST_NAME = 80


def printable(text: str) -> str:
    """The text, characters that move a cursor, turn the writing round or have no encoding written as escapes."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def class_name(kind: type) -> str:
    """A class's name on one line: a candidate's may hold anything, and its metaclass may hide it."""
    name = printable(type.__dict__["__name__"].__get__(kind)) or "a class without a name"
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def one_line(error: BaseException) -> str:
    """The error's message, its middle left out where it is long: compilers put the reason last."""
    try:
        text = str(error)
    except Exception as other:  # the candidate's own class
        return f"no message, for making it raised {class_name(type(other))}"
    return shortened(printable(" ".join(shortened(text, 10 * LONGEST).split()))) or "no message"


def shortened(words: str, most: int = LONGEST) -> str:
    """The words, their middle left out where they are too long."""
    return words if len(words) <= most else f"{words[: most // 5]} … {words[-(most * 3 // 4) :]}"


def told(error: BaseException) -> str:
    """An error as `NAME: MESSAGE`, on one line."""
    return f"{class_name(type(error))}: {one_line(error)}"


def shell_word(text: str) -> str:
    """A word for a shell: a case, which is full of single quotes, stays legible between double ones."""
    return f'"{text}"' if "'" in text and not set(text) & set('"$`\\!') else shlex.quote(text)


def is_text(words: object) -> bool:
    """Whether something, as a path, can be written as UTF-8: a file's name may hold any bytes."""
    try:
        str(words).encode()
    except UnicodeEncodeError:
        return False
    return True
