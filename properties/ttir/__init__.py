"""The TTIR machine: runs Triton kernels without a GPU, all programs at once, and sees every hazard."""

from .accesses import Accesses, Lane, Logged
from .cache import specialisations
from .hazard import Hazard, Unsupported
from .launching import Launch
from .machine import Machine
from .tape import CaptureForbidden, Tape, frozen

__all__ = [
    "Accesses",
    "CaptureForbidden",
    "Hazard",
    "Lane",
    "Launch",
    "Logged",
    "Machine",
    "Tape",
    "Unsupported",
    "frozen",
    "specialisations",
]
