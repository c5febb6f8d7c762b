"""Whose line launches: that of the program, not of a wrapper that passes on what it is given."""

from __future__ import annotations

import sys

from triton.runtime.jit import KernelInterface

from triton_doctor.runtime.hooks.frames import launch_site


class Kernel(KernelInterface):
    """Tells who launches it."""

    def run(self, *args, **kwargs):
        return launch_site()


class Cached(KernelInterface):
    """A library's own cache of kernels."""

    def __init__(self, fn):
        self.fn = fn

    def run(self, *args, **kwargs):
        return self.fn.run(*args, **kwargs)


class Dispatcher:
    """Holds a kernel, and is none."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __call__(self, *args, **kwargs):
        return self.kernel.run(*args, **kwargs)


def retry(kernel):
    def wrapper(*args, **kwargs):
        return kernel.run(*args, **kwargs)

    return wrapper


def launch_twice(kernel, x):
    return kernel.run(x)  # not everything that it is given: a launch of its own


def test_wrappers_are_left_out_and_functions_that_launch_are_not():
    kernel = Kernel()
    for launch in (kernel.run, Cached(kernel).run, Dispatcher(kernel), retry(Cached(kernel))):
        site = launch(1, two=2)

        assert (site.function, site.line) == (sys._getframe().f_code.co_name, sys._getframe().f_lineno - 2)
    assert launch_twice(kernel, 1).function == "launch_twice"
