"""Invariants: what must hold, one file per group of the contract; plain functions `name(ops, case)`."""
