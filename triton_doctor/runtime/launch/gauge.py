"""Memory and utilization of the GPUs while a program runs, as NVML has them; nothing where it is not there.

NVML is the library of the driver that nvidia-smi asks (docs.nvidia.com/deploy/nvml-api). It makes no CUDA context.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

MIB = 1024 * 1024
LIBRARY = "libnvidia-ml.so.1"
LONGEST_NAME = 96


class Memory(ctypes.Structure):
    """nvmlMemory_t: bytes."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Utilization(ctypes.Structure):
    """nvmlUtilization_t: percent of the last sampling period."""

    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


@dataclass(slots=True)
class GpuUse:
    """One GPU, and what was seen of it so far."""

    handle: ctypes.c_void_p
    name: str
    total_mib: int
    peak_mib: int = 0
    percents: list[int] = field(default_factory=list)


class Gauge:
    """Reads all GPUs when asked. `gpus` is empty where there is no NVML."""

    def __init__(self) -> None:
        self.gpus: list[GpuUse] = []
        try:
            self._nvml = ctypes.CDLL(LIBRARY)
        except OSError:
            return
        count = ctypes.c_uint()
        if self._nvml.nvmlInit_v2() or self._nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)):
            return
        for index in range(count.value):
            handle, name, memory = ctypes.c_void_p(), ctypes.create_string_buffer(LONGEST_NAME), Memory()
            if self._nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)):
                continue
            self._nvml.nvmlDeviceGetName(handle, name, LONGEST_NAME)
            self._nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
            self.gpus.append(GpuUse(handle, name.value.decode(errors="replace"), memory.total // MIB))

    def read(self) -> None:
        """Take a sample."""
        for gpu in self.gpus:
            memory, busy = Memory(), Utilization()
            if not self._nvml.nvmlDeviceGetMemoryInfo(gpu.handle, ctypes.byref(memory)):
                gpu.peak_mib = max(gpu.peak_mib, memory.used // MIB)
            if not self._nvml.nvmlDeviceGetUtilizationRates(gpu.handle, ctypes.byref(busy)):
                gpu.percents.append(busy.gpu)

    def summary(self) -> tuple[tuple[str, int, int, float], ...]:
        """Return name, peak MiB in use, total MiB, and mean utilization of each GPU."""
        return tuple(
            (gpu.name, gpu.peak_mib, gpu.total_mib, sum(gpu.percents) / max(1, len(gpu.percents))) for gpu in self.gpus
        )
