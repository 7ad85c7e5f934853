"""What a candidate writes past Python's streams: heard once, and a compiler's words are kept."""

from __future__ import annotations

import os
import sys

from properties import surroundings


def test_descriptors(capfd):
    """Tells the beginning of both; takes standard output away, which a call may repeat for every case."""
    with surroundings.listening("fused_sconv"):
        os.write(1, b"one\ntwo\n")
        os.write(2, b"error: no such layout\n")
    assert surroundings.lines() == [
        "note       fused_sconv printed in 1 call, first 'one'",
        "note       fused_sconv wrote to stderr in 1 call, first 'error: no such layout'",
    ]
    assert capfd.readouterr() == ("", "error: no such layout\n")


def test_what_nobody_captures(capfd, monkeypatch):
    """Passes on, as a terminal shows it."""
    monkeypatch.setattr(sys, "__stdout__", sys.stdout)
    with surroundings.listening("fused_sconv"):
        os.write(1, b"one\n")
        print("two", flush=True)
    assert capfd.readouterr().out == "one\ntwo\n"
