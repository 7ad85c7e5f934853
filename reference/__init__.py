"""The dense truth: one whole sequence in float64, no pages, no slots; and the plain metadata construction."""

from reference.dense import dense_conv
from reference.metadata import sequence_metadata

__all__ = ["dense_conv", "sequence_metadata"]
