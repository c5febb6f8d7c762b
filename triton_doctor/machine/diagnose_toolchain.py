"""What Triton builds with to findings TRD621 to TRD624: compiler, headers, driver library, ptxas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import MachineFinding, Severity
from triton_doctor.variables import PTXAS, ptxas_variable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.machine.facts import Gpu, Machine
    from triton_doctor.variables import Version


def diagnose_toolchain(machine: Machine, version: Version) -> Iterator[MachineFinding]:
    """Nothing where triton is not installed. Without a GPU it is only a warning: an image may be made here."""
    if machine.triton is None:
        return
    missing = Severity.ERROR if machine.gpus else Severity.WARNING
    if machine.compiler is None:
        named = machine.compiler_named
        yield MachineFinding(
            code="TRD621",
            severity=missing,
            message="there is no C compiler, so the first launch fails",
            evidence=f"CC is {named}, and that does not run" if named else "neither gcc nor clang is on PATH",
            remedy="unset CC, or name one that runs" if named else "install one",
            command="unset CC" if named else "apt-get install gcc",
        )
    if machine.headers is None:
        version = ".".join(machine.python.split(".")[:2])
        yield MachineFinding(
            code="TRD622",
            severity=missing,
            message="Python's headers are missing, so the first launch fails",
            evidence=f"there is no {machine.headers_expected}",
            remedy="install the package that brings them",
            command=f"apt-get install python{version}-dev",
        )
    if machine.gpus and machine.driver_library is None:
        gpu = machine.gpus[0]
        name, setting = library(gpu)
        place = f"{setting} to {'this file' if gpu.backend == 'hip' else 'its folder'}"
        evidence, command = "neither ldconfig nor LD_LIBRARY_PATH has it", "ldconfig"
        remedy = f"run ldconfig, start the container with the GPU's driver, or set {place}"
        if setting in machine.variables:
            evidence, remedy, command = f"{setting} names a place without it", f"set {place}, or unset it", None
        elif gpu.backend == "cuda" and not machine.runs_ldconfig:
            evidence = "/sbin/ldconfig cannot run: triton raises before it reads LD_LIBRARY_PATH"
            remedy, command = f"set {place}, which triton reads before it starts ldconfig", None
        yield MachineFinding(
            code="TRD623",
            severity=Severity.ERROR,
            message=f"triton would not find {name}, so no kernel can be launched",
            evidence=f"there is a GPU ({gpu.name}), and {evidence}",
            remedy=remedy,
            command=command,
        )
    yield from find_old_ptxas(machine, version)


def library(gpu: Gpu) -> tuple[str, str]:
    """The driver's library for `gpu`, and the variable that says where it is."""
    if gpu.backend == "hip":
        return "libamdhip64.so", "TRITON_LIBHIP_PATH"
    return "libcuda.so.1", "TRITON_LIBCUDA_PATH"


def find_old_ptxas(machine: Machine, version: Version) -> Iterator[MachineFinding]:
    """TRD624, for each kind of GPU once."""
    kinds = {gpu.arch: gpu for gpu in machine.gpus if gpu.backend == "cuda" and gpu.arch and gpu.arch.isdigit()}
    for arch, gpu in kinds.items():
        if not arch or not machine.ptxas:
            continue
        setting = ptxas_variable(version, int(arch))
        tool = machine.ptxas[0 if setting == PTXAS else -1]
        if not tool.architectures or arch in tool.architectures:
            continue
        newest = ", ".join(f"sm_{known}" for known in sorted(tool.architectures, key=int)[-4:])
        yield MachineFinding(
            code="TRD624",
            severity=Severity.ERROR,
            message=f"ptxas {tool.release} does not know sm_{arch}, the {gpu.name}: every compile fails",
            evidence=f"{tool.path} knows no more than {newest}" + (f"; {tool.set_by} names it" if tool.set_by else ""),
            remedy=f"set {setting} to the ptxas of a newer CUDA, or install a newer triton",
            command=f"unset {tool.set_by}" if tool.set_by else f"export {setting}=/usr/local/cuda/bin/ptxas",
        )
