"""The GPUs, as the drivers tell without a context on any: NVML for NVIDIA, the kernel's own files for AMD."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.machine.facts import Gpu

if TYPE_CHECKING:
    from collections.abc import Iterator

NVML = "libnvidia-ml.so.1"
NODES = Path("/sys/class/kfd/kfd/topology/nodes")
RENDER = Path("/sys/class/drm")
TEXT_BYTES = 96


class NvmlMemory(ctypes.Structure):
    """nvmlMemory_t of nvml.h."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


def find_nvidia() -> tuple[str | None, tuple[Gpu, ...]]:
    """The driver's version and the GPUs, whatever CUDA_VISIBLE_DEVICES says; None and nothing without the driver."""
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
        version = ask_text(lambda text: nvml.nvmlSystemGetDriverVersion(text, TEXT_BYTES))
        return version, tuple(gpu for index in range(count.value) if (gpu := ask_nvidia(nvml, index)))
    finally:
        nvml.nvmlShutdown()


def ask_nvidia(nvml: Any, index: int) -> Gpu | None:
    """The GPU at `index`; None where it does not answer."""
    handle = ctypes.c_void_p()
    if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) != 0:
        return None
    major, minor, memory = ctypes.c_int(), ctypes.c_int(), NvmlMemory()
    knows_arch = nvml.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor)) == 0
    knows_memory = nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0
    return Gpu(
        name=ask_text(lambda text: nvml.nvmlDeviceGetName(handle, text, TEXT_BYTES)) or "NVIDIA GPU",
        backend="cuda",
        arch=f"{major.value}{minor.value}" if knows_arch else None,
        memory_bytes=memory.total if knows_memory else None,
        free_bytes=memory.free if knows_memory else None,
    )


def ask_text(ask: Any) -> str | None:
    """What `ask` writes into the buffer that it is given; None where it fails."""
    text = ctypes.create_string_buffer(TEXT_BYTES)
    return text.value.decode(errors="replace") if ask(text) == 0 else None


def find_amd(nodes: Path = NODES, render: Path = RENDER) -> Iterator[Gpu]:
    """The GPUs that the kernel lists in `nodes`, and their memory by `render`."""
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
    """The number in `path`; None where there is none."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
