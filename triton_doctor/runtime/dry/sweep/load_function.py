"""`module:function` or `file.py:function` to the function. It is imported in the dry run: imports ask for a GPU too."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

WRITTEN = "write package.module:function, or path/to/file.py:function"


def load_function(text: str) -> Callable[..., object]:
    """Import the function named by `text`; the working directory is searched first, as by `python -m`.

    Raises DoctorError if it does not exist or importing it fails.
    """
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise DoctorError(f"no function: {text!r}", hint=WRITTEN)
    try:
        module = _import(place)
    except DoctorError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or not f"{place}.".startswith(f"{error.name}."):
            raise DoctorError(
                f"cannot import {place}: it needs {error.name}", hint=f"pip install {error.name}"
            ) from error
        raise DoctorError(f"no module: {place!r}", hint=f"{WRITTEN}, as seen from {Path.cwd()}") from error
    except (Exception, SystemExit) as error:
        reason = " ".join(str(error).split())
        raise DoctorError(
            f"importing {place} raised {type(error).__name__}: {reason}", hint="import it in Python to see where"
        ) from error
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        functions = [each for each, value in vars(module).items() if _is_function_of(value, module)]
        known = f"it has {', '.join(functions)}" if functions else WRITTEN
        raise DoctorError(f"{place} has no function called {name!r}", hint=known)
    return found


def _import(place: str) -> ModuleType:
    if sys.path[:1] != [os.getcwd()]:  # noqa: PTH109, a str is compared
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    if not place.endswith(".py"):
        return importlib.import_module(place)
    path = Path(place).resolve()
    if not path.is_file():
        raise DoctorError(f"no file: {place}", hint=WRITTEN)
    # As for a script: what lies beside it can be imported.
    sys.path.insert(0, str(path.parent))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    return module


def _is_function_of(value: object, module: ModuleType) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module.__name__ and not isinstance(value, type)
