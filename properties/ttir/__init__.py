"""The TTIR machine: runs Triton kernels without a GPU, all programs at once, and sees every hazard."""

from .cache import specialisations
from .hazard import Hazard, Unsupported
from .machine import Launch, Machine

__all__ = ["Hazard", "Launch", "Machine", "Unsupported", "specialisations"]
