"""Facts of a machine to what is wrong with it. Pure: no file, no import of triton, no clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.machine.diagnose_cache import diagnose_cache
from triton_doctor.machine.diagnose_gpu import diagnose_gpus
from triton_doctor.machine.diagnose_packages import diagnose_packages
from triton_doctor.machine.diagnose_toolchain import diagnose_toolchain
from triton_doctor.machine.diagnose_variables import diagnose_variables
from triton_doctor.variables import newest_version, parse_version

if TYPE_CHECKING:
    from triton_doctor.finding import MachineFinding
    from triton_doctor.machine.facts import Machine
    from triton_doctor.variables import Version


def diagnose(machine: Machine, version: Version | None = None) -> list[MachineFinding]:
    """What is wrong with `machine`, the worst first; variables as Triton `version` reads them, by default its own."""
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
    """The release line of the Triton that is installed; the newest known where none is, or none that says."""
    if machine.triton is None or not machine.triton.version[:1].isdigit():
        return newest_version()
    return parse_version(machine.triton.version)
