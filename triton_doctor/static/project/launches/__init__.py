"""Launches to kernels, and to the arguments, options and configs that both spell out. Nothing is evaluated here.

In: the modules of a project. Out: a `LinkedLaunch` for each launch, with the kernels that it may start, and the
expression that it passes for each parameter.

Example: `copy[(1,)](x, BLOCK=64)` is linked to the kernel `copy(x_ptr, BLOCK)`; `x_ptr` gets `x`, `BLOCK` gets `64`.

Files, in reading order:

- `linking`: the kernels that a launch may start.
- `launches`: the launches of each kernel, and the arguments they spell out.
- `argument_positions`: positional arguments to parameters.
"""
