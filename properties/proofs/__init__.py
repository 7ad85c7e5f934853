"""Proofs for every batch of a geometry: a second, symbolic evaluator of the TTIR that the machine runs."""
