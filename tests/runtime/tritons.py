"""Programs on real Tritons, each in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tritons import skip_for_output, triton_folder

__all__ = ["NEWEST", "PROGRAMS", "REPOSITORY", "VERSIONS", "Runner", "triton_folder"]

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
VERSIONS = ("3.2.0", "3.4.0", "3.6.0", "3.9.0")
NEWEST = VERSIONS[-1]
# What says how this machine compiles, and that these tests may run in a worker of pytest-xdist.
OTHERS = ("TRITON_", "PYTEST_XDIST_")


class Runner:
    """Runs Python with one triton, in a process of its own, with a cache of kernels that begins empty."""

    def __init__(self, folder: Path, kernels: Path) -> None:
        self.path = os.pathsep.join([str(REPOSITORY), str(folder)])
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
        self.environment |= {"PYTHONPATH": self.path, "TRITON_CACHE_DIR": str(kernels), "PYTHONWARNINGS": "ignore"}

    def __call__(self, *command: str, check: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
        """`python *command`; its output is text."""
        done = subprocess.run(
            [sys.executable, *command], env=self.environment | variables, capture_output=True, text=True, check=False
        )
        if done.returncode:
            skip_for_output(done.stdout + done.stderr)
        if check and done.returncode:
            pytest.fail(f"{command} ended with {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        return done
