"""Tests of the mutation tool."""
