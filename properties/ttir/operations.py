"""Imports every module of operations, so that the registry is full."""

from . import (  # noqa: F401  # imported for their effect
    access,
    atomics,
    casts,
    control,
    descriptors,
    division,
    effects,
    floats,
    fused,
    gathers,
    integers,
    products,
    reductions,
    shapes,
)
