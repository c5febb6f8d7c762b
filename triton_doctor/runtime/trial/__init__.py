"""Kernels to whether they compile for given arguments, and to how many variants: in a process of its own, on no GPU."""
