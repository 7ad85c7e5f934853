"""Reproducers: a violated property as a script that needs torch and the candidate alone."""

from __future__ import annotations

from properties.reproducer.events import Unwritable
from properties.reproducer.making import again, forget, reproduce, write

__all__ = ["Unwritable", "again", "forget", "reproduce", "write"]
