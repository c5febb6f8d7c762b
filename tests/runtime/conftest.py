"""`runner(version)` runs programs on a real triton."""

import pytest

from tests.runtime.tritons import NEWEST, Runner, triton_folder


@pytest.fixture
def runner(tmp_path):
    """`runner(version)` is a Runner of its own."""
    return lambda version=NEWEST: Runner(triton_folder(version), tmp_path / "kernels")
