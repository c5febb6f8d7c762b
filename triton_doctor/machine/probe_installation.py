"""What is installed here: packages, the tools and libraries that Triton builds with, drivers and GPUs.

Imports neither triton nor torch, and creates no context on a GPU: NVML lists NVIDIA's, the kernel's own files AMD's.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.machine.facts import Gpu, Package, Ptxas, Requirement
from triton_doctor.masking import mask
from triton_doctor.variables import PTXAS, PTXAS_OF_NEWER_GPUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PINNED = re.compile(r"(?P<name>[\w.-]*triton[\w.-]*)\s*\(?\s*==\s*(?P<version>[\w.+!]+)", re.IGNORECASE)
OWN_VERSION = re.compile(r"""^__version__\s*=\s*["'](?P<version>[^"']+)""", re.MULTILINE)
BUILD = re.compile(r"""^(?P<build>cuda|hip)\b[^=]*=\s*["']""", re.MULTILINE)


def find_tritons() -> tuple[Package, ...]:
    """Return all distributions that install a package `triton`, whatever their names, such as pytorch-triton.

    One that is on the path twice through a link (lib64 to lib) counts once.
    """
    return tuple(sorted(set(triton_distributions()), key=lambda package: (package.name, package.folder)))


def triton_distributions() -> Iterator[Package]:
    """Yield the distributions of `find_tritons`, unsorted and with repetitions."""
    for distribution in importlib.metadata.distributions():
        name = distribution.name or ""
        if "triton" not in name.lower():
            continue
        record = distribution.read_text("RECORD") or ""
        editable = '"editable": true' in (distribution.read_text("direct_url.json") or "")
        if "triton/__init__.py," in record.replace("\\", "/") or (editable and "triton" in top_level(distribution)):
            yield Package(
                name=name, version=distribution.version, folder=os.path.realpath(str(distribution.locate_file("")))
            )


def top_level(distribution: importlib.metadata.Distribution) -> set[str]:
    """Return the top-level packages of `distribution`; its own name if its metadata does not list them."""
    return set((distribution.read_text("top_level.txt") or distribution.name).split())


def find_package(name: str, brought_by: tuple[Package, ...] = ()) -> Package | None:
    """Return the package that `import name` would find; None if there is none.

    It has the name of the distribution in `brought_by` that is in its folder, else `name`.
    """
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a None in sys.modules, say
        spec = None
    if spec is None or spec.origin is None:
        return None
    folder = Path(os.path.realpath(spec.origin)).parent.parent
    for package in brought_by:
        if package.folder == str(folder):
            return package
    return Package(name=name, version=find_version(name, Path(spec.origin)), folder=str(folder))


def find_version(name: str, origin: Path) -> str:
    """Return the version of the package `name`: from its metadata, else from `__version__` in its file `origin`.

    "unknown" if neither has it.
    """
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
    try:
        match = OWN_VERSION.search(origin.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        match = None
    return match["version"] if match else "unknown"


def read_torch_build(torch: Package) -> str:
    """Return what `torch` was built for, by its version file: cuda, hip or cpu."""
    try:
        text = (Path(torch.folder) / "torch" / "version.py").read_text(encoding="utf-8")
    except OSError:
        return "cpu"
    match = BUILD.search(text)
    return match["build"] if match else "cpu"


def read_torch_wants() -> Requirement | None:
    """Return the triton that the installed torch pins; None if it pins none, as builds for the CPU do."""
    try:
        lines = importlib.metadata.requires("torch") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for line in lines:
        if "extra ==" not in line and (match := PINNED.match(line)):
            return Requirement(name=match["name"], version=match["version"])
    return None


TOOLS = {"ptxas": PTXAS, "ptxas-blackwell": PTXAS_OF_NEWER_GPUS}
RELEASE = re.compile(r"release (?P<release>\d+\.\d+)")
ARCHITECTURE = re.compile(r"'sm_(?P<arch>\d+)'")
PATIENCE_SECONDS = 10


def find_compiler(variables: Mapping[str, str]) -> str | None:
    """Find the C compiler by Triton's own rules: CC, else gcc, else clang (3.9 runtime/build.py:22).

    None if there is none, or if CC names one that does not exist.
    """
    path = variables.get("PATH", os.defpath)
    named = variables.get("CC")
    if named is not None:
        return shutil.which(named.split()[0], path=path) if named.strip() else None
    return shutil.which("gcc", path=path) or shutil.which("clang", path=path)


def expected_headers() -> Path:
    """Return the path where Triton expects Python.h (3.9 runtime/build.py, _build)."""
    scheme = sysconfig.get_default_scheme()
    scheme = "posix_prefix" if scheme == "posix_local" else scheme
    return Path(sysconfig.get_paths(scheme=scheme)["include"]) / "Python.h"


def find_driver_library(backend: str, variables: Mapping[str, str], torch_folder: str | None) -> str | None:
    """Find the driver library of `backend` by Triton's own rules (3.9 nvidia/driver.py:27, amd/driver.py).

    `torch_folder` is where torch is installed; its libraries are searched for AMD GPUs. None if Triton would not find
    one.
    """
    name, setting = {"hip": ("libamdhip64.so", "TRITON_LIBHIP_PATH")}.get(
        backend, ("libcuda.so.1", "TRITON_LIBCUDA_PATH")
    )
    if named := variables.get(setting):
        # The file itself (3.9 amd/driver.py:34), or its folder (3.9 nvidia/driver.py:27).
        path = Path(named) if backend == "hip" else Path(named) / name
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
    """Return the output of `ldconfig -p`; None if it cannot run or fails."""
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
    """Yield the assemblers that the Triton in `triton_folder` would run: its own, or the one that a variable names."""
    for tool, setting in TOOLS.items():
        own = os.path.join(triton_folder, "triton", "backends", "nvidia", "bin", tool)  # noqa: PTH118
        if tool != "ptxas" and not os.path.exists(own):  # noqa: PTH110
            continue
        named = variables.get(setting)
        found = query_ptxas(named) if named else None
        if found is not None and named:
            yield Ptxas(path=mask(named), release=found[0], architectures=found[1], set_by=setting)
        elif (found := query_ptxas(own)) is not None:
            yield Ptxas(path=own, release=found[0], architectures=found[1], ignored=mask(named) if named else None)


def query_ptxas(path: str) -> tuple[str, tuple[str, ...]] | None:
    """Run the ptxas at `path`; return its release and the architectures that it supports, None if it does not run."""
    outputs = []
    for option in ("--version", "--help"):
        try:
            done = subprocess.run([path, option], capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS)
        except (OSError, subprocess.SubprocessError, ValueError):
            return None
        outputs.append(done.stdout)
    release = RELEASE.search(outputs[0])
    if release is None:
        return None
    return release["release"], tuple(dict.fromkeys(match["arch"] for match in ARCHITECTURE.finditer(outputs[1])))


NVML = "libnvidia-ml.so.1"
NODES = Path("/sys/class/kfd/kfd/topology/nodes")
RENDER = Path("/sys/class/drm")
TEXT_BYTES = 96


class NvmlMemory(ctypes.Structure):
    """nvmlMemory_t of nvml.h."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


def find_nvidia() -> tuple[str | None, tuple[Gpu, ...]]:
    """Return the NVIDIA driver's version and its GPUs, including those that CUDA_VISIBLE_DEVICES hides.

    Without a driver, None and an empty tuple.
    """
    try:
        nvml = ctypes.CDLL(NVML)
    except OSError:
        return None, ()
    if nvml.nvmlInit_v2() != 0:
        return None, ()
    try:
        count = ctypes.c_uint()
        if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            count.value = 0
        version = read_text(lambda text: nvml.nvmlSystemGetDriverVersion(text, TEXT_BYTES))
        return version, tuple(gpu for index in range(count.value) if (gpu := query_nvidia(nvml, index)))
    finally:
        nvml.nvmlShutdown()


def query_nvidia(nvml: Any, index: int) -> Gpu | None:
    """Return the GPU at `index` of NVML; None if NVML cannot open it."""
    handle = ctypes.c_void_p()
    if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) != 0:
        return None
    major, minor, memory = ctypes.c_int(), ctypes.c_int(), NvmlMemory()
    knows_arch = nvml.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor)) == 0
    knows_memory = nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0
    return Gpu(
        name=read_text(lambda text: nvml.nvmlDeviceGetName(handle, text, TEXT_BYTES)) or "NVIDIA GPU",
        backend="cuda",
        arch=f"{major.value}{minor.value}" if knows_arch else None,
        memory_bytes=memory.total if knows_memory else None,
        free_bytes=memory.free if knows_memory else None,
    )


def read_text(query: Any) -> str | None:
    """Call an NVML function with a text buffer and return what it wrote; None if it failed."""
    text = ctypes.create_string_buffer(TEXT_BYTES)
    return text.value.decode(errors="replace") if query(text) == 0 else None


def find_amd(nodes: Path = NODES, render: Path = RENDER) -> Iterator[Gpu]:
    """Yield the AMD GPUs that the Linux kernel lists in `nodes`, with the memory sizes that it has in `render`."""
    for path in sorted(nodes.glob("*/properties")):
        try:
            properties = dict(line.split(maxsplit=1) for line in path.read_text().splitlines() if " " in line)
        except OSError:
            continue
        version = int(properties.get("gfx_target_version", "0"))
        if version == 0:
            continue
        device = render / f"renderD{properties.get('drm_render_minor', '')}" / "device"
        total, used = read_number(device / "mem_info_vram_total"), read_number(device / "mem_info_vram_used")
        arch = f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"
        yield Gpu(
            name=f"AMD {arch}",
            backend="hip",
            arch=arch,
            memory_bytes=total,
            free_bytes=None if total is None or used is None else total - used,
        )


def read_number(path: Path) -> int | None:
    """Return the integer in the file `path`; None if it cannot be read."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
