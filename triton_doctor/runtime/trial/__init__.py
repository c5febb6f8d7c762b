"""Compiles kernels for given arguments in a separate process without a GPU, and counts their variants."""
