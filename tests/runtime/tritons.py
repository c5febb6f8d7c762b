"""Real Tritons to run programs on, each installed once into a cache folder of the user's."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
VERSIONS = ("3.2.0", "3.4.0", "3.6.0", "3.9.0")
NEWEST = VERSIONS[-1]
# What says how this machine compiles, and that these tests may run in a worker of pytest-xdist.
OTHERS = ("TRITON_", "PYTEST_XDIST_")


def triton_folder(version: str) -> Path:
    """Where triton `version` lies, on its own: `TRITON_DOCTOR_TEST_CACHE` says where instead of ~/.cache."""
    cache = Path(os.environ.get("TRITON_DOCTOR_TEST_CACHE") or Path.home() / ".cache" / "triton-doctor-tests")
    folder = cache / f"triton-{version}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        unpacking = tempfile.mkdtemp(dir=cache)
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", unpacking]
        try:
            subprocess.run([*install, f"triton=={version}"], check=True)
            Path(unpacking).rename(folder)
        except OSError:
            if not folder.exists():  # else another worker was faster
                raise
        finally:
            shutil.rmtree(unpacking, ignore_errors=True)
    return folder


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
        if check and done.returncode:
            pytest.fail(f"{command} ended with {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        return done
