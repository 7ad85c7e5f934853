"""Text of a candidate that a terminal, a page and a worker's channel can take."""

from __future__ import annotations

import shlex


def printable(text: str) -> str:
    """The text, characters that move a cursor, turn the writing round or have no encoding written as escapes."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


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
