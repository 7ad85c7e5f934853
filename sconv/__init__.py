"""Paged short-convolution kernels: the fused convolution of one stream, and its per-row metadata."""

from sconv.fused import fused_sconv
from sconv.metadata import sconv_seq_metadata

__all__ = ["fused_sconv", "sconv_seq_metadata"]
