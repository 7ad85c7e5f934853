"""Mutation of Triton kernels: what the judge is worth, measured on kernels that are wrong in one place."""
