"""Reproducers: a violated property as a script that needs torch and the candidate alone."""

from __future__ import annotations

from properties.reproducer.events import Unwritable
from properties.reproducer.making import again, forget, is_told_in, reproduce, write

__all__ = ["Unwritable", "again", "forget", "is_told_in", "reproduce", "write"]
