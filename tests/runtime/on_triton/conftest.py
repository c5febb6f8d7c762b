"""These run where triton is installed, on the compile-only target: compiled, not run."""

import os
import sys
import tempfile

import pytest

collect_ignore_glob = []
if "TRITON_CACHE_DIR" not in os.environ:
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="triton-doctor-tests-")
try:
    import triton  # noqa: F401
except ImportError:
    collect_ignore_glob = ["test_*.py"]
else:
    from triton_doctor.runtime.target import activate

    # Before kernels are made: an Autotuner of triton 3.2 asks for the driver at once.
    activate("cuda:90")


@pytest.fixture
def x():
    import torch

    return torch.zeros(4096)


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """An empty cache of kernels on disk."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "kernels"))
    return sys.modules["triton"]
