"""The launchers that Triton up to 3.6 has a C compiler build at the first launch of each signature, built ahead.

They need the driver's library to link against and to load. Where there is no driver, an empty library of the same
name takes its place: what is built only refers to `libcuda.so.1`, which the machine with the GPU has.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of the backends that have one, the driver's module, and the class of its launchers and of its own C library.
DRIVERS = {
    "cuda": ("triton.backends.nvidia.driver", "CudaLauncher", "CudaUtils"),
    "hip": ("triton.backends.amd.driver", "HIPLauncher", "HIPUtils"),
}
LIBRARY, LINKED = "libcuda.so.1", "libcuda.so"
PATH_VARIABLE = "TRITON_LIBCUDA_PATH"


def builds_launchers(target: str) -> bool:
    """Return whether this Triton builds C launchers for `target` (until triton 3.6, driver.py, make_launcher)."""
    module = importlib.import_module(DRIVERS[target.partition(":")[0]][0])
    return hasattr(module, "make_launcher")


def build_launcher(kernel: Any, target: str) -> None:
    """Build the launcher of `kernel`, a CompiledKernel, into the cache folder. Raises if that fails."""
    name, launcher, utilities = DRIVERS[target.partition(":")[0]]
    module = importlib.import_module(name)
    with _lazy_loading(), contextlib.ExitStack() as ending:
        if target.startswith("cuda"):
            ending.enter_context(_driver_library(module))
        getattr(module, utilities)()
        getattr(module, launcher)(kernel.src, kernel.metadata)


@contextlib.contextmanager
def _lazy_loading() -> Iterator[None]:
    """Load libraries with lazy symbol resolution inside this context, so that missing functions do no harm."""
    before = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_LAZY | os.RTLD_LOCAL)
    try:
        yield
    finally:
        sys.setdlopenflags(before)


@contextlib.contextmanager
def _driver_library(module: Any) -> Iterator[None]:
    """Make Triton find a library named like the GPU driver inside this context: the real one if installed."""
    try:
        module.libcuda_dirs()
    except (AssertionError, OSError, subprocess.SubprocessError):
        folder = _build_empty_library()
    else:
        yield
        return
    before = os.environ.get(PATH_VARIABLE)
    os.environ[PATH_VARIABLE] = folder
    try:
        yield
    finally:
        # What it remembers of our folder ends with it.
        for memoized in (module.libcuda_dirs, module.library_dirs):
            memoized.cache_clear()
        if before is None:
            os.environ.pop(PATH_VARIABLE, None)
        else:
            os.environ[PATH_VARIABLE] = before


@functools.cache
def _build_empty_library() -> str:
    """Build and load an empty library named like the driver; return its folder. Raises if there is no C compiler."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise FileNotFoundError("no C compiler: install gcc, or name one in CC")
    folder = Path(tempfile.mkdtemp(prefix="triton-doctor-driver-"))
    source = folder / "empty.c"
    source.touch()
    library = folder / LIBRARY
    command = [compiler, "-shared", "-fPIC", f"-Wl,-soname,{LIBRARY}", "-o", str(library), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    (folder / LINKED).symlink_to(LIBRARY)
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    return str(folder)
