"""The interpreter engine: Triton's own CPU interpreter, slow and without bf16."""

from __future__ import annotations

import os
from types import MappingProxyType

from properties.engines.base import Engine


class Interpreter(Engine):
    """Runs kernels under TRITON_INTERPRET=1, which must be set before the candidate is loaded."""

    name = "interpreter"
    no_graphs = "Triton's interpreter works unseen by torch, so its launches cannot be captured"
    unjudged_dtypes = MappingProxyType({"bf16": "Triton's interpreter adds bit patterns as integers and truncates"})

    def __init__(self) -> None:
        os.environ["TRITON_INTERPRET"] = "1"
