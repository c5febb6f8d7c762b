"""This machine to KeyParts: what its Triton puts into the key of every kernel. Imports neither triton nor torch."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.machine.packs.manifest import KeyParts
from triton_doctor.machine.probe_installation import PATIENCE_SECONDS, TOOLS, find_amd, find_nvidia, find_package
from triton_doctor.variables import parse_version, variables

if TYPE_CHECKING:
    from collections.abc import Mapping

# What `triton_key` hashes beside libtriton (triton 3.6 runtime/cache.py:254; in compiler/compiler.py until 3.4).
FRONTEND = ("compiler", "backends", "language", "runtime/cache.py")
MOCKED_PTXAS = "TRITON_MOCK_PTX_VERSION"
FALSE_WORDS = frozenset({"0", "off", "false"})
TRUE_WORDS = frozenset({"1", "on", "true"})
CHUNK_BYTES = 1 << 20


def read_key_parts(environment: Mapping[str, str]) -> KeyParts:
    """Read the parts of the cache key that all kernels share, for a process with `environment` in this Python."""
    package = find_package("triton")
    folder = Path(package.folder) / "triton" if package else None
    gpus = (*find_nvidia()[1], *find_amd())
    return KeyParts(
        triton=package.version if package else None,
        libtriton=hash_libtriton(folder) if folder else None,
        frontend=hash_frontend(folder) if folder else None,
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        abi=str(sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag),
        # As triton 3.6 runtime/build.py:60 puts it into the key of a launcher.
        platform=",".join([platform.machine(), platform.system(), *platform.architecture()]),
        ptxas=read_ptxas(folder, environment) if folder else {},
        gpus=tuple(dict.fromkeys(gpu.name for gpu in gpus)),
        targets=tuple(dict.fromkeys(f"{gpu.backend}:{gpu.arch}" for gpu in gpus if gpu.arch)),
        variables=read_variables(environment, package.version if package else None),
    )


def require_key_parts(environment: Mapping[str, str]) -> KeyParts:
    """Read the key parts like `read_key_parts`. Raises DoctorError if Triton is not installed."""
    here = read_key_parts(environment)
    if here.triton is None:
        raise DoctorError(
            "no triton here: cannot tell which kernels would be found", hint="run this with the Python that has triton"
        )
    return here


def hash_libtriton(folder: Path) -> str | None:
    """Return a digest of Triton's compiler library; None if it does not exist. `folder` is the package triton.

    It is the file that `triton_key` hashes (triton 3.6 runtime/cache.py:291).
    """
    ending = str(sysconfig.get_config_var("EXT_SUFFIX")).rpartition(".")[2]
    return hash_file(folder / "_C" / f"libtriton.{ending}")


def hash_frontend(folder: Path) -> str:
    """Return a digest of Triton's Python files that are part of the key. `folder` is the package triton."""
    digest = hashlib.sha256()
    for part in FRONTEND:
        found = [folder / part] if part.endswith(".py") else sorted((folder / part).rglob("*.py"))
        for path in found:
            digest.update(f"{path.relative_to(folder).as_posix()}:{hash_file(path)};".encode())
    return digest.hexdigest()


def hash_file(path: Path) -> str | None:
    """Return the SHA-256 digest of the file at `path`; None if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
    except OSError:
        return None
    return digest.hexdigest()


def read_ptxas(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the version text of each ptxas that Triton would run, by tool; the text is part of the key.

    `folder` is the package triton.
    """
    if mocked := environment.get(MOCKED_PTXAS):
        return dict.fromkeys(TOOLS, mocked)
    found = {}
    for tool, setting in TOOLS.items():
        own = str(folder / "backends" / "nvidia" / "bin" / tool)
        for path in filter(None, (environment.get(setting), own)):
            try:
                command = [path, "--version"]
                done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS)
            except (OSError, subprocess.SubprocessError, ValueError):
                continue
            found[tool] = done.stdout
            break
    return found


def read_variables(environment: Mapping[str, str], triton: str | None) -> dict[str, str]:
    """Return the variables of `environment` that are part of the key, each with the value that Triton uses in it.

    Triton normalizes 0, off and false to `false`, and 1, on and true to `true`, ignoring case; it omits empty values.
    """
    version = parse_version(triton) if triton and triton[:1].isdigit() else parse_version(None)
    found = {}
    for name, value in environment.items():
        known = variables().get(name)
        if value and known and known.keyed != "options" and known.enters_key(version):
            word = value.lower()
            found[name] = "true" if word in TRUE_WORDS else "false" if word in FALSE_WORDS else value
    return found
