"""Facts of a machine to what is wrong with it: the findings about packages, tools and GPUs are made here.

Pure: reads no file and no clock, and does not import triton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import MachineFinding, Severity
from triton_doctor.machine.diagnose_cache import diagnose_cache
from triton_doctor.machine.diagnose_variables import diagnose_variables
from triton_doctor.variables import (
    INTERPRET,
    PTXAS,
    newest_version,
    parse_version,
    ptxas_variable,
    turns_interpreter_on,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.machine.facts import Gpu, Machine
    from triton_doctor.variables import Version


def diagnose_packages(machine: Machine, version: Version) -> Iterator[MachineFinding]:
    """Yield the findings about installed packages: TRD625, TRD626, and TRD628 for interpreter mode without numpy."""
    yield from find_two_tritons(machine)
    yield from find_another_triton(machine)
    interprets = turns_interpreter_on(machine.variables.get(INTERPRET, ""), version)
    if machine.numpy is None and machine.triton is not None and interprets:
        yield MachineFinding(
            code="TRD628",
            severity=Severity.ERROR,
            message="interpreter mode is on, and numpy, which it needs, is not installed",
            evidence=f"{machine.executable} finds no numpy",
            remedy="install numpy",
            command=f"{machine.executable} -m pip install numpy",
        )


def find_two_tritons(machine: Machine) -> Iterator[MachineFinding]:
    """Yield TRD625 if several distributions install a `triton` package.

    In one folder they overwrite each other's files; in two folders one of them hides the other.
    """
    if len(machine.tritons) < 2:
        return
    folders = {package.folder for package in machine.tritons}
    overwrite = len(folders) < len(machine.tritons)
    names = [f"{package.name} {package.version}" for package in machine.tritons]
    taken = machine.triton
    yield MachineFinding(
        code="TRD625",
        severity=Severity.ERROR if overwrite else Severity.WARNING,
        message=f"{len(names)} packages bring a triton: {', '.join(names)}",
        evidence="the one that was installed last has overwritten files of the other"
        if overwrite
        else f"an import finds {taken.name} {taken.version} in {taken.folder}"
        if taken
        else "an import finds none of them",
        remedy="uninstall all of them, then install the one that torch wants",
        command=f"{machine.executable} -m pip uninstall {' '.join(sorted({p.name for p in machine.tritons}))}",
    )


def find_another_triton(machine: Machine) -> Iterator[MachineFinding]:
    """Yield TRD626 if the installed Triton is not the version that the installed torch pins."""
    wants, taken = machine.torch_wants, machine.triton
    if wants is None or machine.torch is None:
        return
    command = f"{machine.executable} -m pip install {wants.name}=={wants.version}"
    if taken is None:
        yield MachineFinding(
            code="TRD626",
            severity=Severity.WARNING,
            message=f"torch {machine.torch.version} wants {wants.name} {wants.version}, and no triton is installed",
            evidence="torch.compile for a GPU needs it",
            remedy="install the one that torch wants",
            command=command,
        )
    elif public(taken.version) != public(wants.version):
        yield MachineFinding(
            code="TRD626",
            severity=Severity.WARNING,
            message=f"torch {machine.torch.version} wants {wants.name} {wants.version}, not {taken.version}",
            evidence=f"an import finds {taken.name} {taken.version} in {taken.folder}",
            remedy="install the one that torch wants, unless the other is meant: torch is tested with its own only",
            command=command,
        )


def public(version: str) -> str:
    """Return the public part of `version`: 3.2.0 for 3.2.0+git0d4682f0."""
    return version.partition("+")[0]


def diagnose_toolchain(machine: Machine, version: Version) -> Iterator[MachineFinding]:
    """Yield TRD621 to TRD624: missing compiler, headers or driver library, and a ptxas that is too old.

    Nothing if Triton is not installed. Without a GPU a missing tool is a warning, as this may be the build of an image.
    """
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
        python = ".".join(machine.python.split(".")[:2])
        yield MachineFinding(
            code="TRD622",
            severity=missing,
            message="Python's headers are missing, so the first launch fails",
            evidence=f"there is no {machine.headers_expected}",
            remedy="install the package that brings them",
            command=f"apt-get install python{python}-dev",
        )
    if machine.gpus and machine.driver_library is None:
        gpu = machine.gpus[0]
        name, setting = library(gpu)
        place = f"{setting} to {'this file' if gpu.backend == 'hip' else 'its folder'}"
        command: str | None = "ldconfig"
        evidence = "neither ldconfig nor LD_LIBRARY_PATH has it"
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
    """Return the file name of the driver library for `gpu`, and the variable that overrides its place."""
    if gpu.backend == "hip":
        return "libamdhip64.so", "TRITON_LIBHIP_PATH"
    return "libcuda.so.1", "TRITON_LIBCUDA_PATH"


def find_old_ptxas(machine: Machine, version: Version) -> Iterator[MachineFinding]:
    """Yield TRD624 for each GPU architecture that the ptxas in use does not support."""
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


HIDING = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
FEW_BYTES = 2**30
SMALL_PART = 0.05


def diagnose_gpus(machine: Machine) -> Iterator[MachineFinding]:
    """Yield the findings about GPUs and their drivers: TRD627, and TRD631 for each GPU with little free memory."""
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
    """Yield TRD627 if Triton cannot launch: it needs exactly one active driver (3.9 runtime/driver.py:18)."""
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
    """Return evidence, remedy and command for a GPU for which Triton finds no driver.

    The evidence is empty if nothing is wrong; the command is None if no single command helps.
    """
    for name in HIDING:
        value = machine.variables.get(name)
        if value is not None and value.strip() in {"", "-1", "NoDevFiles"}:
            return f"{name} is `{value}`, which hides every GPU", "unset it", f"unset {name}"
    backend = machine.gpus[0].backend
    if machine.torch is not None and machine.torch_build != backend:
        built = machine.torch_build or "nothing"
        evidence = f"torch {machine.torch.version} was built for {built}, and the GPU is of {backend}"
        return evidence, f"install a torch that was built for {backend}", None
    return "", "", None


def diagnose(machine: Machine, version: Version | None = None) -> list[MachineFinding]:
    """Return what is wrong with `machine`, the worst first.

    Environment variables are judged as Triton `version` reads them; by default the installed version.
    """
    read_as = version or version_of(machine)
    found = [
        *diagnose_variables(machine, read_as),
        *diagnose_cache(machine, read_as),
        *diagnose_toolchain(machine, read_as),
        *diagnose_packages(machine, read_as),
        *diagnose_gpus(machine),
    ]
    return sorted(found, key=lambda finding: finding.order)


def version_of(machine: Machine) -> Version:
    """Return the release line of the installed Triton; the newest known one if it cannot be determined."""
    if machine.triton is None or not machine.triton.version[:1].isdigit():
        return newest_version()
    return parse_version(machine.triton.version)
