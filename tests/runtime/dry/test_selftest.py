"""A torch that cannot run dry is found out in a child process, whatever it does there."""

import contextlib
import os

from triton_doctor.runtime.dry import selftest


@contextlib.contextmanager
def ending(act):
    act()
    yield


def refuse():
    raise RuntimeError("no such\ndevice")


def test_what_ends_the_child_is_told_and_we_live(kernels):
    assert selftest._try_in_child(lambda: ending(os.abort)) == "differentiating a tensor ended the process (signal 6)"


def test_what_the_child_raises_is_told_in_a_line(kernels):
    assert selftest._try_in_child(lambda: ending(refuse)) == "RuntimeError: no such device"


def test_it_passes_in_a_new_interpreter_too(kernels):
    assert selftest._try_afresh() == ""
