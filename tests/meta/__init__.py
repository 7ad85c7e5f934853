"""Tests of the judge itself."""
