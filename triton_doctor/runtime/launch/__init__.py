"""Running any program, and the processes that it starts, so that each records what its kernels do.

What starts a program is imported before it begins, so this package keeps from importing what it can.
"""
