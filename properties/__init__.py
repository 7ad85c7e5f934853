"""What must hold of any candidate's short-convolution operators, and the means to judge it."""

import os
import sys

# Triton decides when it is imported whether its own functions are interpreted, and much here imports it.
if "--engine=interpreter" in sys.argv or ("--engine", "interpreter") in zip(sys.argv, sys.argv[1:], strict=False):
    os.environ["TRITON_INTERPRET"] = "1"
