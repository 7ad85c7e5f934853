"""Reproducers: a violated property as a script that needs torch and the candidate alone."""

from __future__ import annotations

from properties.reproducer.making import forget, reproduce, write
from properties.reproducer.recording import Unwritable

__all__ = ["Unwritable", "forget", "reproduce", "write"]
