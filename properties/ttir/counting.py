"""Counts true lanes; here because NumPy's public function spends three quarters of its time on dispatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# the undispatched function lives in a module that NumPy 2 renamed; without it the public one serves
_module: Any = getattr(np, "_core", None) or np.core
count: Callable[[Any], int] = getattr(_module.multiarray, "count_nonzero", np.count_nonzero)
