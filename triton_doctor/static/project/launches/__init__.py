"""Launches to kernels, and what both spell out: arguments, options, configs. Nothing is evaluated here.

In: the modules of a project. Out: a **linked launch** for each launch, with the kernels that it may start, and the
expression that it passes for each parameter.

Example: `copy[(1,)](x, BLOCK=64)` is linked to the kernel `copy(x_ptr, BLOCK)`; `x_ptr` gets `x`, and `BLOCK` gets
`64`.
"""
