"""Where Triton keeps its kernels: a process's variables to CachePlace."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from collections.abc import Mapping

BELOW_HOME = Path(".triton") / "cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePlace:
    """`set_by` is the variable that decided, None where the user's home did, as the system knows it without HOME."""

    path: Path
    set_by: str | None


def locate_cache(variables: Mapping[str, str]) -> CachePlace:
    """Return the cache folder of a process with `variables` (triton 3.9 knobs.py, cache_knobs).

    Raises DoctorError where there is none: TRITON_CACHE_DIR is empty (run on 3.4 to 3.9: RuntimeError), or the user has
    no home.
    """
    if variables.get("TRITON_CACHE_DIR") == "":
        raise DoctorError("TRITON_CACHE_DIR is empty: triton has no cache folder", hint="unset it, or name a folder")
    if folder := variables.get("TRITON_CACHE_DIR", "").strip():
        return CachePlace(path=Path(os.path.abspath(folder)), set_by="TRITON_CACHE_DIR")  # noqa: PTH100, links stay
    if "TRITON_HOME" in variables:
        return CachePlace(path=Path(variables["TRITON_HOME"]).absolute() / BELOW_HOME, set_by="TRITON_HOME")
    if home := variables.get("HOME"):
        return CachePlace(path=Path(home).absolute() / BELOW_HOME, set_by="HOME")
    try:
        import pwd

        return CachePlace(path=Path(pwd.getpwuid(os.getuid()).pw_dir) / BELOW_HOME, set_by=None)
    except (ImportError, KeyError) as error:
        raise DoctorError("HOME is not set, and this user has no home", hint="set TRITON_CACHE_DIR") from error
