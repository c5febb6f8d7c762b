"""These run on the compile-only target, in a process of their own: `tests/guards/test_guards.py` starts them."""

import os

import pytest

collect_ignore_glob = ["test_*.py"]
if os.environ.get("TRITON_DOCTOR_TESTS_ON_TRITON"):
    collect_ignore_glob = []
    from triton_doctor.runtime.target import activate

    # Before kernels are made: an Autotuner of triton 3.2 asks for the driver at once.
    activate("cuda:90")


@pytest.fixture
def x():
    import torch

    return torch.zeros(4096)


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch, tmp_path):
    """Nothing of an earlier test is on disk."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "kernels"))
