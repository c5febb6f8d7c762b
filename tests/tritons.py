"""What runs kernels: released Tritons, in a cache folder of the user's, and the torch and triton of this environment.

Without torch, triton or the packages of an extra, a test that needs them is skipped: one that imports them, or starts a
program that does. The failed import itself says so, and no list has to be kept of these tests.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import traceback
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# Of this Python's extension modules: `cpython-311-x86_64-linux-gnu`.
TAG = str(sysconfig.get_config_var("SOABI"))
OPTIONAL = ("torch", "triton", "lsprotocol", "pygls", "pytest_lsp", "zstandard")


def skip_for_import(error: ModuleNotFoundError) -> None:
    """Skip the test that raised `error` if a file of the tests imported what is not installed here.

    An import by triton_doctor itself is no reason: what it does without torch and triton is what such a test asks.
    """
    importer = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    if importer.is_relative_to(TESTS):
        skip_for_output(str(error))


def skip_for_output(printed: str) -> None:
    """Skip the test whose program printed, in Python's words or in ours, that it imports what is not installed here."""
    said = ("No module named '{}'", "{} is not installed here")
    skip_without(*(package for package in OPTIONAL if any(words.format(package) in printed for words in said)))


def skip_without(*packages: str) -> None:
    """Skip the test where one of `packages` is not installed."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"needs {package}, which is not installed")


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
        keep(fresh, folder)
    quick = cache / "quick" / TAG / folder.name
    if not quick.is_dir():
        keep(quicken(folder, quick.with_name(f"{quick.name}.{os.getpid()}")), quick)
    return quick


def quicken(folder: Path, fresh: Path) -> Path:
    """The package of `folder` in `fresh`, with hard links to the same files, but a short `libtriton.so`.

    Each process that compiles hashes the file of that name for the keys of its kernels: 500 MB, more work than most
    tests have besides. Python finds the library under its full name first, which the import system prefers.
    """
    shutil.copytree(folder, fresh, copy_function=os.link, symlinks=True)
    library = fresh / "triton" / "_C" / "libtriton.so"
    with library.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    library.rename(library.with_suffix(EXTENSION_SUFFIXES[0]))
    library.write_text(f"stands for the library of this digest: {digest}\n")
    return fresh


def keep(fresh: Path, folder: Path) -> None:
    """Rename `fresh` to `folder`, unless another process was faster."""
    try:
        fresh.rename(folder)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
