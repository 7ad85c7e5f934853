"""Candidates to judge: a correct one in plain torch, and copies of it with one fault each."""
