"""This machine to Machine: every fact that a diagnosis asks for. Imports neither triton nor torch."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.machine.cache_folder import locate_cache
from triton_doctor.machine.facts import Machine
from triton_doctor.machine.probe_cache import MOUNTS, probe_cache
from triton_doctor.machine.probe_installation import (
    expected_headers,
    find_amd,
    find_compiler,
    find_driver_library,
    find_nvidia,
    find_package,
    find_ptxas,
    find_tritons,
    list_libraries,
    read_torch_build,
    read_torch_wants,
)
from triton_doctor.masking import mask, mask_variable
from triton_doctor.regular_files import read_named_file
from triton_doctor.variables import looks_like_triton, variables

if TYPE_CHECKING:
    from collections.abc import Mapping

# What docker and podman leave in a container, and kubernetes in the environment.
CONTAINER_FILES = (Path("/.dockerenv"), Path("/run/.containerenv"))
CONTAINER_VARIABLES = ("KUBERNETES_SERVICE_HOST", "container")
# Beside what the table names: what decides which GPU, which library and which cache a kernel meets.
PREFIXES = ("TRITON_", "CUDA_", "HIP_", "HSA_", "ROCM_", "ROCR_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_")
OTHERS = frozenset({"NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_TF32_OVERRIDE"})
ASSIGNMENT = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=(?P<value>.*)")
COMMENT = re.compile(r"\s#.*$")


def probe(environment: Mapping[str, str], *, mounts: Path = MOUNTS) -> Machine:
    """Gather the facts of this machine for a process with `environment`. `mounts` is the kernel's table of mounts."""
    tritons = find_tritons()
    triton = find_package("triton", tritons)
    torch = find_package("torch")
    numpy = find_package("numpy")
    driver, nvidia = find_nvidia()
    gpus = (*nvidia, *find_amd())
    headers = expected_headers()
    backend = gpus[0].backend if gpus else "cuda"
    try:
        cache = probe_cache(locate_cache(environment), mounts)
    except DoctorError:
        cache = None
    return Machine(
        python=platform.python_version(),
        executable=sys.executable,
        system=platform.platform(terse=True),
        triton=triton,
        tritons=tritons,
        torch=torch,
        torch_build=read_torch_build(torch) if torch else None,
        torch_wants=read_torch_wants(),
        numpy=numpy.version if numpy else None,
        variables=choose_variables(environment),
        compiler=find_compiler(environment),
        compiler_named=mask(environment["CC"]) if "CC" in environment else None,
        headers=str(headers) if headers.exists() else None,
        headers_expected=str(headers),
        gpus=gpus,
        driver=driver,
        driver_library=find_driver_library(backend, environment, torch.folder if torch else None),
        runs_ldconfig=list_libraries() is not None,
        ptxas=tuple(find_ptxas(triton.folder, environment)) if triton else (),
        cache=cache,
        in_container=any(path.exists() for path in CONTAINER_FILES)
        or any(os.environ.get(name) for name in CONTAINER_VARIABLES),
    )


def choose_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Select the variables of `environment` that concern Triton, torch, CUDA or ROCm, sorted, with secrets masked."""
    known = variables()
    return {
        name: mask(value) if name in known else mask_variable(name, value)
        for name, value in sorted(environment.items())
        if name in known or name in OTHERS or name.startswith(PREFIXES) or looks_like_triton(name)
    }


def read_env_file(path: Path) -> dict[str, str]:
    """Read a file of NAME=VALUE lines, in the form of docker and systemd, or a copy of /proc/PID/environ.

    Raises DoctorError if it cannot be read.
    """
    try:
        text = read_named_file(path).decode("utf-8", "replace")
    except OSError as error:
        raise DoctorError(
            f"{path} cannot be read: {reason_of(error)}",
            hint="--env-file names a file of NAME=VALUE",
        ) from error
    if "\0" in text:
        return split_environment(text)
    found = {}
    for line in text.splitlines():
        if not line.lstrip().startswith("#") and (match := ASSIGNMENT.fullmatch(line)):
            found[match["name"]] = unquote(match["value"].strip())
    return found


def unquote(value: str) -> str:
    """Strip the quotes around `value`, or else a comment at its end."""
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return COMMENT.sub("", value)


def read_process(pid: int, proc: Path) -> dict[str, str]:
    """Read the variables that process `pid` was started with, from the folder `proc`.

    Raises DoctorError if there is no such process or its environment cannot be read.
    """
    path = proc / str(pid) / "environ"
    try:
        return split_environment(path.read_bytes().decode(errors="replace"))
    except FileNotFoundError as error:
        raise DoctorError(f"there is no process {pid}", hint="--pid takes the number of one that runs") from error
    except OSError as error:
        raise DoctorError(
            f"the environment of process {pid} cannot be read",
            hint="run triton-doctor as the user of that process, or as root",
        ) from error


def split_environment(text: str) -> dict[str, str]:
    """Split a block of NAME=VALUE strings that end with zero bytes, as /proc/PID/environ has it."""
    pairs = (entry.partition("=") for entry in text.split("\0") if "=" in entry)
    return {name: value for name, _, value in pairs}
