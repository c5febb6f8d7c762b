"""What Triton builds its launchers and binaries with: compiler, Python's headers, driver library, ptxas."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.machine.facts import Ptxas
from triton_doctor.masking import mask
from triton_doctor.variables import PTXAS, PTXAS_OF_NEWER_GPUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TOOLS = {"ptxas": PTXAS, "ptxas-blackwell": PTXAS_OF_NEWER_GPUS}
RELEASE = re.compile(r"release (?P<release>\d+\.\d+)")
ARCHITECTURE = re.compile(r"'sm_(?P<arch>\d+)'")
PATIENCE_SECONDS = 10


def find_compiler(variables: Mapping[str, str]) -> str | None:
    """The C compiler as triton looks for it, gcc before clang (3.9 runtime/build.py:22); None where CC names none."""
    path = variables.get("PATH", os.defpath)
    named = variables.get("CC")
    if named is not None:
        return shutil.which(named.split()[0], path=path) if named.strip() else None
    return shutil.which("gcc", path=path) or shutil.which("clang", path=path)


def expected_headers() -> Path:
    """Where Python.h has to be (3.9 runtime/build.py, _build)."""
    scheme = sysconfig.get_default_scheme()
    scheme = "posix_prefix" if scheme == "posix_local" else scheme
    return Path(sysconfig.get_paths(scheme=scheme)["include"]) / "Python.h"


def find_driver_library(backend: str, variables: Mapping[str, str], torch_folder: str | None) -> str | None:
    """The driver's library where triton looks for it (3.9 nvidia/driver.py:27, amd/driver.py); None where it is not."""
    name, setting = {"hip": ("libamdhip64.so", "TRITON_LIBHIP_PATH")}.get(
        backend, ("libcuda.so.1", "TRITON_LIBCUDA_PATH")
    )
    if asked := variables.get(setting):
        # The file itself (3.9 amd/driver.py:34), or its folder (3.9 nvidia/driver.py:27).
        path = Path(asked) if backend == "hip" else Path(asked) / name
        return str(path) if path.exists() else None
    listed = list_libraries()
    linked = [Path(line.split()[-1]) for line in (listed or "").splitlines() if name in line and "=>" in line]
    folders = [entry for entry in variables.get("LD_LIBRARY_PATH", "").split(":") if entry]
    if backend == "hip" and torch_folder:
        folders.insert(0, os.path.join(torch_folder, "torch", "lib"))  # noqa: PTH118
    if backend == "cuda" and (listed is None or linked):
        # Triton raises without ldconfig, and reads LD_LIBRARY_PATH only where that lists no such library.
        folders = []
    for path in (*linked, *(Path(folder) / name for folder in folders)):
        if path.exists():
            return str(path)
    return None


@cache
def list_libraries() -> str | None:
    """Return the libraries that ldconfig lists; None where it cannot run, or fails."""
    try:
        done = subprocess.run(
            ["/sbin/ldconfig", "-p"],
            capture_output=True,
            text=True,
            errors="ignore",
            check=True,
            timeout=PATIENCE_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def find_ptxas(triton_folder: str, variables: Mapping[str, str]) -> Iterator[Ptxas]:
    """Each ptxas of the triton in `triton_folder`, or the one that a variable puts in its place."""
    for tool, setting in TOOLS.items():
        own = os.path.join(triton_folder, "triton", "backends", "nvidia", "bin", tool)  # noqa: PTH118
        if tool != "ptxas" and not os.path.exists(own):  # noqa: PTH110
            continue
        asked = variables.get(setting)
        found = ask_ptxas(asked) if asked else None
        if found is not None and asked:
            yield Ptxas(path=mask(asked), release=found[0], architectures=found[1], set_by=setting)
        elif (found := ask_ptxas(own)) is not None:
            yield Ptxas(path=own, release=found[0], architectures=found[1], ignored=mask(asked) if asked else None)


def ask_ptxas(path: str) -> tuple[str, tuple[str, ...]] | None:
    """Release and architectures of the ptxas at `path`, in its own words; None where it does not run."""
    said = []
    for option in ("--version", "--help"):
        try:
            done = subprocess.run([path, option], capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS)
        except (OSError, subprocess.SubprocessError, ValueError):
            return None
        said.append(done.stdout)
    release = RELEASE.search(said[0])
    if release is None:
        return None
    return release["release"], tuple(dict.fromkeys(match["arch"] for match in ARCHITECTURE.finditer(said[1])))
