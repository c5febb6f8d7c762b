"""`kernels` are those of the tests; `dry` is a dry run, and its recording."""

import importlib

import pytest

import triton_doctor


@pytest.fixture
def kernels():
    """The module of kernels, imported when it is first needed."""
    return importlib.import_module("tests.runtime.dry.kernels")


@pytest.fixture
def dry(kernels):
    """The recording of a dry run that lasts as long as the test."""
    with triton_doctor.dry_run() as recording:
        yield recording
