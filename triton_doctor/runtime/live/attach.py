"""Starting to watch a process that runs already, by `sys.remote_exec` of Python 3.14 (PEP 768)."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from triton_doctor.errors import DoctorError

RESTART = "restart it under `triton-doctor run`, or with TRITON_DOCTOR=live"
PACKAGE = Path(__file__).parents[2]
# Run by the process itself, on its main thread, where that next comes to a safe point. The package is taken from where
# we are, without a new entry on its sys.path.
SCRIPT = """
def begin(package):
    import importlib.util, sys
    if "triton_doctor" not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            "triton_doctor", package + "/__init__.py", submodule_search_locations=[package]
        )
        sys.modules["triton_doctor"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["triton_doctor"])
    from triton_doctor.runtime.launch.startup.services import begin
    begin("live,log")

try:
    begin({package!r})
except Exception as error:
    import sys
    sys.stderr.write(f"triton-doctor: not watched: {{error!r}}\\n")
del begin
"""


def begin_watching(pid: int) -> None:
    """Make the running process `pid` keep a live file and log its compiles. Raises DoctorError if impossible."""
    execute: Any = getattr(sys, "remote_exec", None)
    if execute is None:
        version = ".".join(map(str, sys.version_info[:2]))
        raise DoctorError(f"--watch needs Python 3.14 here and in the process; this is {version}", hint=RESTART)
    # Read by the process when it comes to it, so it cannot be removed here.
    descriptor, path = tempfile.mkstemp(prefix="triton-doctor-watch-", suffix=".py")
    os.write(descriptor, write_script().encode())
    os.close(descriptor)
    try:
        execute(pid, path)
    except (OSError, RuntimeError) as error:
        os.unlink(path)
        raise DoctorError(f"cannot attach to process {pid}: {error}", hint=RESTART) from error


def write_script() -> str:
    """Return the Python code that the other process executes to start recording."""
    return SCRIPT.format(package=str(PACKAGE))
