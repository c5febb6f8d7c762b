"""What a user wrote after `run` to the command that is started: a script, a module, code, or a command by its name."""

from __future__ import annotations

import os
import sys

from triton_doctor.errors import DoctorError, working_folder

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

HINT = "`triton-doctor run script.py`, `run -m pytest`, `run -c 'code'`, or a command by its name"


def resolve(words: Sequence[str]) -> tuple[str, ...]:
    """Return the command to start for the arguments `words`. Raises DoctorError if there is no such program."""
    if not words or not words[0]:
        raise DoctorError("run needs a program", hint=HINT)
    first = words[0]
    if first in ("-m", "-c"):
        if len(words) < 2:
            raise DoctorError(f"{first} takes {'a module' if first == '-m' else 'code'}", hint=HINT)
        return (python_for_programs(), *words)
    if is_for_python(first):
        return (python_for_programs(), *words)
    if os.sep in first or os.path.exists(first):
        if not os.path.isfile(first):
            raise DoctorError(f"there is no program {first}", hint=f"the working directory is {working_folder()}")
        # A script without a suffix, and without the right to be executed, is one for Python.
        return tuple(words) if os.access(first, os.X_OK) and os.sep in first else (python_for_programs(), *words)
    beside = os.path.join(os.path.dirname(sys.executable), first)
    if on_path(first):
        return tuple(words)
    if os.access(beside, os.X_OK):
        return (beside, *words[1:])
    raise DoctorError(f"no such script or command: {first}", hint=f"the working directory is {working_folder()}")


def python_for_programs() -> str:
    """Return the Python to run programs with: ours if it has Triton, otherwise the project's.

    With pipx or uv, triton-doctor is installed in a Python of its own, without the project's packages.
    """
    from importlib.util import find_spec

    return sys.executable if find_spec("triton") is not None else find_project_python() or sys.executable


def find_project_python() -> str | None:
    """Return the Python of the active virtual environment, else the first on PATH; None if it is ours."""
    active = os.environ.get("VIRTUAL_ENV")
    places = [os.path.join(active, "bin")] if active else []
    places += os.environ.get("PATH", os.defpath).split(os.pathsep)
    for place in places:
        for name in ("python", "python3"):
            python = os.path.join(place, name)
            if os.access(python, os.X_OK) and os.path.isfile(python):
                return None if os.path.abspath(python) == sys.executable else python
    return None


def is_for_python(path: str) -> bool:
    """Return whether Python can run `path`: a script, an archive, or a folder with a `__main__.py`.

    Raises DoctorError for a script that does not exist.
    """
    if path.endswith((".py", ".pyc", ".pyz", ".pyw")):
        if not os.path.isfile(path):
            raise DoctorError(f"there is no script {path}", hint=f"the working directory is {working_folder()}")
        return True
    return os.path.isfile(os.path.join(path, "__main__.py"))


def on_path(name: str) -> bool:
    """Return whether PATH contains the executable `name`."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return any(os.access(os.path.join(folder, name), os.X_OK) for folder in folders)
