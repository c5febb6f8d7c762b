"""These run on the compile-only target, compiled, not run: in a process of their own, for it is the process's target.

`tests/runtime/test_counts.py` starts them, on each generation of triton.
"""

import os
import sys

import pytest

collect_ignore_glob = ["test_*.py"]
if os.environ.get("TRITON_DOCTOR_TESTS_ON_TRITON"):
    collect_ignore_glob = []
    from triton_doctor.runtime.compile_target import activate

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
