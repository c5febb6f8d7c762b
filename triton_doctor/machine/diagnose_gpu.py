"""The GPUs and drivers to findings TRD627 and TRD631."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import MachineFinding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.machine.facts import Machine

HIDING = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
FEW_BYTES = 2**30
SMALL_PART = 0.05


def diagnose_gpus(machine: Machine) -> Iterator[MachineFinding]:
    """All that GPUs and drivers say."""
    yield from find_no_single_driver(machine)
    for number, gpu in enumerate(machine.gpus):
        if gpu.memory_bytes is None or gpu.free_bytes is None:
            continue
        if gpu.free_bytes < max(FEW_BYTES, SMALL_PART * gpu.memory_bytes):
            free, total = gpu.free_bytes / 2**30, gpu.memory_bytes / 2**30
            yield MachineFinding(
                code="TRD631",
                severity=Severity.WARNING,
                message=f"GPU {number} has little free memory: {free:.1f} of {total:.1f} GiB",
                evidence=f"{gpu.name}; another process holds the rest, and slows what is measured here",
                remedy="see who holds it, and choose another GPU",
                command="nvidia-smi" if gpu.backend == "cuda" else "rocm-smi --showpids",
            )


def find_no_single_driver(machine: Machine) -> Iterator[MachineFinding]:
    """TRD627: triton launches nothing unless exactly one driver is active (3.9 runtime/driver.py:18)."""
    if machine.triton is None:
        return
    if not machine.gpus:
        yield MachineFinding(
            code="TRD627",
            severity=Severity.INFO,
            message="there is no GPU: kernels can be checked, compiled for a target and interpreted here, not launched",
            evidence="neither NVML nor Linux (/sys/class/kfd) lists one",
            remedy="in a container, start it with the GPUs of the host",
        )
        return
    yield from (
        MachineFinding(
            code="TRD627",
            severity=Severity.ERROR,
            message="no driver is active, so triton launches nothing",
            evidence=evidence,
            remedy=remedy,
            command=command,
        )
        for evidence, remedy, command in [why_inactive(machine)]
        if evidence
    )


def why_inactive(machine: Machine) -> tuple[str, str, str | None]:
    """Evidence, remedy and command for a machine with a GPU on which triton finds no driver; "" where it would."""
    for name in HIDING:
        value = machine.variables.get(name)
        if value is not None and value.strip() in {"", "-1", "NoDevFiles"}:
            return f"{name} is `{value}`, which hides every GPU", "unset it", f"unset {name}"
    backend = machine.gpus[0].backend
    if machine.torch is not None and machine.torch_build != backend:
        built = machine.torch_build or "nothing"
        told = f"torch {machine.torch.version} was built for {built}, and the GPU is of {backend}"
        return told, f"install a torch that was built for {backend}", None
    return "", "", None
