"""This machine to Machine: every fact that a diagnosis asks for. Imports neither triton nor torch."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
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
from triton_doctor.machine.probe_variables import choose_variables
from triton_doctor.masking import mask

if TYPE_CHECKING:
    from collections.abc import Mapping

# What docker and podman leave in a container, and kubernetes in the environment.
CONTAINER_FILES = (Path("/.dockerenv"), Path("/run/.containerenv"))
CONTAINER_VARIABLES = ("KUBERNETES_SERVICE_HOST", "container")


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
