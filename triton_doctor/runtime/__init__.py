"""Watching real kernels: what compiled, why, and what it cost."""
