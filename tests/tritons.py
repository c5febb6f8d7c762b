"""Released Tritons, each installed once into a cache folder of the user's, beside whatever runs the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def triton_folder(version: str) -> Path:
    """The folder that holds the package `triton` of `version`; installed by pip on first use, without dependencies.

    Skips the test where that wheel cannot be had: no network, or none for this Python or machine.
    """
    cache = Path(os.environ.get("TRITON_DOCTOR_TEST_CACHE", "~/.cache/triton-doctor-tests")).expanduser()
    folder = cache / f"triton-{version}"
    if not (folder / "triton").is_dir():
        fresh = cache / f"triton-{version}.{os.getpid()}"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(fresh)]
        done = subprocess.run([*command, f"triton=={version}"], capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(fresh, ignore_errors=True)
            pytest.skip(f"triton {version} cannot be installed here: {done.stderr.strip().splitlines()[-1:]}")
        try:
            fresh.rename(folder)
        except OSError:
            # Another process was faster.
            shutil.rmtree(fresh, ignore_errors=True)
    return folder
