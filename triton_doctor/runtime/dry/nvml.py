"""nvidia-smi and NVML of a GPU that is not there, for programs that ask them instead of torch."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec

    from triton_doctor.runtime.dry.gpu import AbsentGpu
    from triton_doctor.runtime.dry.patches import Patches

DRIVER, MIB = "580.65.06", 1 << 20
# Reads what nvidia-smi is asked most: nothing, -L, or --query-gpu with --format=csv[,noheader][,nounits].
PROGRAM = """#!{python} -S
import sys
known, name, memory = {known!r}, {name!r}, {memory!r}
asked = next((word[12:] for word in sys.argv[1:] if word.startswith("--query-gpu=")), None)
form = next((word[9:] for word in sys.argv[1:] if word.startswith("--format=")), "csv").split(",")
if "-L" in sys.argv:
    print("GPU 0: " + name + " (UUID: " + known["uuid"][0] + ")")
elif asked is None:
    print("NVIDIA-SMI " + known["driver_version"][0] + "   CUDA Version: 13.0\\n|   0  " + name + "   |  " + memory)
else:
    fields = [field.strip() for field in asked.split(",")]
    if "noheader" not in form:
        print(", ".join(fields))
    pairs = [known.get(field, ("[N/A]", "")) for field in fields]
    print(", ".join(value if not unit or "nounits" in form else value + " " + unit for value, unit in pairs))
"""


def patch_nvml(patches: Patches, gpu: AbsentGpu) -> Callable[[], None]:
    """Make nvidia-smi and NVML describe `gpu`; does nothing for an AMD GPU.

    Returns a function that removes the substitutes.
    """
    if gpu.is_amd:
        return lambda: None
    folder = tempfile.mkdtemp(prefix="triton-doctor-dry-")
    program = Path(folder, "nvidia-smi")
    memory = f"{gpu.memory // MIB}MiB"
    program.write_text(
        PROGRAM.format(python=sys.executable, known=_known(gpu), name=gpu.name, memory=f"0MiB / {memory}"),
        encoding="utf-8",
    )
    program.chmod(0o755)
    patches.set_variable("PATH", os.pathsep.join([folder, os.environ.get("PATH", os.defpath)]))
    pynvml = _make_pynvml(gpu)
    patches.set_entry(sys.modules, "pynvml", pynvml)
    copies = _PynvmlFinder(pynvml)
    sys.meta_path.insert(0, copies)

    def remove() -> None:
        sys.meta_path.remove(copies)
        for name in [name for name, module in sys.modules.items() if copies.made(module)]:
            del sys.modules[name]
        shutil.rmtree(folder, ignore_errors=True)

    return remove


class _PynvmlFinder:
    """Finds `pynvml` in place of the copies that packages bring, such as `vllm.third_party.pynvml`."""

    def __init__(self, pynvml: Any) -> None:
        self._pynvml = pynvml

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if name.endswith(".pynvml") else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> Any:
        copy = types.ModuleType(spec.name)
        copy.__dict__.update({name: value for name, value in vars(self._pynvml).items() if name[:2] != "__"})
        return copy

    def exec_module(self, module: Any) -> None:
        """Do nothing: the module is made whole."""

    def made(self, module: Any) -> bool:
        """Return whether `module` is one of the copies."""
        return getattr(getattr(module, "__spec__", None), "loader", None) is self


def _known(gpu: AbsentGpu) -> dict[str, tuple[str, str]]:
    """Return value and unit of each nvidia-smi query field."""
    whole = str(gpu.memory // MIB)
    return {
        "index": ("0", ""),
        "count": ("1", ""),
        "name": (gpu.name, ""),
        "gpu_name": (gpu.name, ""),
        "uuid": ("GPU-00000000-0000-0000-0000-000000000000", ""),
        "driver_version": (DRIVER, ""),
        "compute_cap": (".".join(map(str, gpu.capability)), ""),
        "memory.total": (whole, "MiB"),
        "memory.free": (whole, "MiB"),
        "memory.used": ("0", "MiB"),
        "utilization.gpu": ("0", "%"),
        "utilization.memory": ("0", "%"),
        "temperature.gpu": ("30", ""),
        "power.draw": ("70.00", "W"),
    }


def _make_pynvml(gpu: AbsentGpu) -> Any:
    """Create a `pynvml` module with the functions that programs call most, which describe `gpu`."""
    module: Any = types.ModuleType("pynvml", "NVML of a GPU that a dry run pretends to have.")
    memory = types.SimpleNamespace(total=gpu.memory, free=gpu.memory, used=0)
    answers: dict[str, Any] = {
        "nvmlInit": None,
        "nvmlInitWithFlags": None,
        "nvmlShutdown": None,
        "nvmlSystemGetDriverVersion": DRIVER,
        "nvmlSystemGetCudaDriverVersion": 13000,
        "nvmlDeviceGetCount": 1,
        "nvmlDeviceGetHandleByIndex": 0,
        "nvmlDeviceGetHandleByPciBusId": 0,
        "nvmlDeviceGetHandleByUUID": 0,
        "nvmlDeviceGetIndex": 0,
        "nvmlDeviceGetName": gpu.name,
        "nvmlDeviceGetUUID": "GPU-00000000-0000-0000-0000-000000000000",
        "nvmlDeviceGetMemoryInfo": memory,
        "nvmlDeviceGetCudaComputeCapability": gpu.capability,
        "nvmlDeviceGetUtilizationRates": types.SimpleNamespace(gpu=0, memory=0),
        "nvmlDeviceGetTemperature": 30,
        "nvmlDeviceGetPowerUsage": 70_000,
        "nvmlDeviceGetClockInfo": 1_980,
        "nvmlDeviceGetMaxClockInfo": 1_980,
        "nvmlDeviceGetComputeRunningProcesses": [],
        "nvmlDeviceGetNvLinkState": 0,
    }
    for name, answer in answers.items():
        setattr(module, name, lambda *_, answer=answer, **__: answer)
    module.NVMLError = type("NVMLError", (Exception,), {})
    module.NVML_TEMPERATURE_GPU = module.NVML_CLOCK_SM = module.NVML_CLOCK_MEM = 0
    return module
