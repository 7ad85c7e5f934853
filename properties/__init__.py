"""What must hold of any candidate's short-convolution operators, and the means to judge it."""
