"""The facts of a machine: what a probe saw, and all that a diagnosis knows.

The defaults are a machine in order, so that an example of a sick one names only its sickness.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """An installed distribution, and the folder that it is imported from."""

    name: str
    version: str
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """What torch asks for: `triton` at `version`, as its metadata pins it."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """`backend` is cuda or hip, `arch` as in `90` or `gfx942`; None where nothing would say."""

    name: str
    backend: str = "cuda"
    arch: str | None = "90"
    memory_bytes: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ptxas:
    """The assembler that triton takes. `ignored` is what TRITON_PTXAS_PATH names and does not run."""

    path: str
    release: str
    architectures: tuple[str, ...]
    set_by: str | None = None
    ignored: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem:
    """Where a path lies. `kind` as the kernel names it: ext4, nfs4, overlay; None where it does not say.

    `free_files` None where the file system does not count them. `runs_programs` is false where it is mounted noexec.
    """

    kind: str | None = "ext4"
    mount: str = "/"
    size_bytes: int = 10**12
    free_bytes: int = 5 * 10**11
    free_files: int | None = None
    runs_programs: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood:
    """A kernel with many variants, and the parameter that caused them; None if it could not be determined."""

    kernel: str
    variants: int
    place: str | None = None
    part: str | None = None
    parameter: str | None = None
    values: int = 0
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """The cache folder. `set_by` is the variable that decided; `problem` is why this user cannot write, None if it can.

    `owner` is of the folder, or of the nearest existing parent. `entries` and `size_bytes` count what was read,
    everything if `is_whole`; `most` are the kernels with the most variants, and how many. `damaged` are entries that
    Triton finds and cannot use, each with the reason.
    """

    path: str = "/home/user/.triton/cache"
    set_by: str | None = "HOME"
    exists: bool = True
    problem: str | None = None
    owner: str | None = None
    is_own: bool = True
    file_system: FileSystem = field(default_factory=FileSystem)
    entries: int = 0
    size_bytes: int = 0
    is_whole: bool = True
    most: tuple[tuple[str, int], ...] = ()
    floods: tuple[Flood, ...] = ()
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """All facts. `triton` is what an import would find, None for nothing; `tritons` all that install one.

    `torch_build` is cuda, hip or cpu. `compiler` is None if there is none; `compiler_named` is the value of CC.
    `headers` is None if Python.h is missing; `headers_expected` is where it should be. `driver_library` is libcuda.so.1
    or libamdhip64.so; None if triton would not find it.
    """

    python: str = "3.12.0"
    executable: str = "/usr/bin/python3"
    system: str = "Linux"
    triton: Package | None = field(default_factory=lambda: Package(name="triton", version="3.6.0", folder="/site"))
    tritons: tuple[Package, ...] = ()
    torch: Package | None = field(default_factory=lambda: Package(name="torch", version="2.11.0", folder="/site"))
    torch_build: str | None = "cuda"
    torch_wants: Requirement | None = None
    numpy: str | None = "2.0.0"
    variables: Mapping[str, str] = field(default_factory=dict)
    compiler: str | None = "/usr/bin/gcc"
    compiler_named: str | None = None
    headers: str | None = "/usr/include/python3.12/Python.h"
    headers_expected: str = "/usr/include/python3.12/Python.h"
    gpus: tuple[Gpu, ...] = field(default_factory=lambda: (Gpu(name="NVIDIA H100"),))
    driver: str | None = "580.1"
    driver_library: str | None = "/usr/lib/libcuda.so.1"
    runs_ldconfig: bool = True
    ptxas: tuple[Ptxas, ...] = ()
    cache: Cache | None = field(default_factory=Cache)
    in_container: bool = False
