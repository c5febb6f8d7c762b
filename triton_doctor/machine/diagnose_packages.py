"""The installed packages to findings TRD625, TRD626 and TRD628: which triton, torch's or another; and numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import MachineFinding, Severity
from triton_doctor.variables import INTERPRET, turns_interpreter_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.machine.facts import Machine
    from triton_doctor.variables import Version


def diagnose_packages(machine: Machine, version: Version) -> Iterator[MachineFinding]:
    """All that the installed packages say."""
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
    """TRD625: in one folder they overwrite each other's files, in two one hides the other."""
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
    """TRD626."""
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
    """`version` without what a build adds: 3.2.0 of 3.2.0+git0d4682f0."""
    return version.partition("+")[0]
