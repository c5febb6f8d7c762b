"""The GPU that a dry run pretends to have: from `cuda:90,sms=132` to its name, figures and torch's properties of it."""

from __future__ import annotations

import re
import types
from dataclasses import dataclass
from typing import Any

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.compile_target import (
    MULTIPROCESSORS,
    SHARED_MEMORY,
    SHARED_MEMORY_AMD,
    SHARED_MEMORY_SINCE_90,
    parse_target,
)

DEFAULT_TARGET = "cuda:90"
HINT = "write it as cuda:90 or cuda:90,sms=132"
GIB = 1 << 30
# Name, multiprocessors and memory of the board that is usual for an architecture (vendors' data sheets).
BOARDS: dict[int | str, tuple[str, int, int]] = {
    70: ("Tesla V100-SXM2-32GB", 80, 32 * GIB),
    75: ("Tesla T4", 40, 16 * GIB),
    80: ("NVIDIA A100-SXM4-80GB", 108, 80 * GIB),
    86: ("NVIDIA A10", 72, 24 * GIB),
    89: ("NVIDIA L40S", 142, 48 * GIB),
    90: ("NVIDIA H100 80GB HBM3", MULTIPROCESSORS, 80 * GIB),
    100: ("NVIDIA B200", 148, 180 * GIB),
    120: ("NVIDIA GeForce RTX 5090", 170, 32 * GIB),
    "gfx90a": ("AMD Instinct MI250X", 110, 64 * GIB),
    "gfx942": ("AMD Instinct MI300X", 304, 192 * GIB),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentGpu:
    """A GPU that is not there. `memory` and `shared_memory` (of a block that opts in) are in bytes."""

    target: str
    name: str
    capability: tuple[int, int]
    multiprocessors: int
    memory: int
    shared_memory: int
    warp_size: int

    @property
    def is_amd(self) -> bool:
        """Return whether the target is an AMD GPU, which torch calls hip."""
        return self.target.startswith("hip")

    def describe(self) -> tuple[tuple[str, str], ...]:
        """Return labels and values that a report shows of the simulated GPU: name, multiprocessors, memory."""
        return (
            ("GPU", self.name),
            ("multiprocessors", str(self.multiprocessors)),
            ("memory", f"{self.memory // GIB} GiB"),
            ("capability", ".".join(map(str, self.capability))),
        )

    def properties(self) -> Any:
        """Return an object like that of torch.cuda.get_device_properties."""
        return types.SimpleNamespace(
            name=self.name,
            major=self.capability[0],
            minor=self.capability[1],
            total_memory=self.memory,
            multi_processor_count=self.multiprocessors,
            warp_size=self.warp_size,
            max_threads_per_multi_processor=2048,
            max_threads_per_block=1024,
            regs_per_multiprocessor=65536,
            shared_memory_per_block=49152,
            shared_memory_per_block_optin=self.shared_memory,
            shared_memory_per_multiprocessor=self.shared_memory + 1024,
            L2_cache_size=50 << 20,
            is_integrated=0,
            is_multi_gpu_board=0,
            gcnArchName=self.target.partition(":")[2],
            uuid="GPU-00000000-0000-0000-0000-000000000000",
            pci_bus_id=0,
            pci_device_id=0,
            pci_domain_id=0,
            clock_rate=1_980_000,
            memory_clock_rate=2_619_000,
            memory_bus_width=5120,
        )


def read_gpu(text: str | None) -> AbsentGpu:
    """Parse text such as `cuda:90,sms=132`; None gives an H100. Raises DoctorError for an invalid target."""
    target, *parts = (text or DEFAULT_TARGET).split(",")
    backend, arch, warp_size = parse_target(target)
    name, multiprocessors, memory = BOARDS.get(arch, (f"{backend} GPU {arch}", MULTIPROCESSORS, 80 * GIB))
    for part in parts:
        match = re.fullmatch(r"sms=([1-9]\d{0,4})", part)
        if match is None:
            raise DoctorError(f"no such part of a target: {part!r}", hint=HINT)
        multiprocessors = int(match[1])
    shared = SHARED_MEMORY_AMD if backend == "hip" else SHARED_MEMORY.get(str(arch), SHARED_MEMORY_SINCE_90)
    return AbsentGpu(
        target=target,
        name=name,
        capability=divmod(arch, 10) if isinstance(arch, int) else (9, 4 if arch == "gfx942" else 0),
        multiprocessors=multiprocessors,
        memory=memory,
        shared_memory=shared,
        warp_size=warp_size,
    )
