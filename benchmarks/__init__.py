"""Times of the kernels on a GPU, what compilers make of them, and what judging costs; nothing here is asserted."""
