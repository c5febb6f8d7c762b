"""These run on the compile-only target, in a process of their own: `tests/guards/test_guards.py` starts them."""

import os

import pytest

collect_ignore_glob = ["test_*.py"]
if os.environ.get("TRITON_DOCTOR_TESTS_ON_TRITON"):
    collect_ignore_glob = []
    from triton_doctor.runtime.compile_target import activate

    # Before kernels are made: an Autotuner of triton 3.2 asks for the driver at once.
    activate("cuda:90")


@pytest.fixture
def x():
    """A pointer of Triton's own: the import of torch would take most of the time of these tests."""
    from triton.runtime.jit import MockTensor

    return MockTensor("float32")


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch, tmp_path):
    """Nothing of an earlier test is on disk."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "kernels"))
