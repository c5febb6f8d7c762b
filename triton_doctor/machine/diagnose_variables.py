"""The variables of a process to findings TRD601 to TRD605: what is on, unknown, ignored or at odds."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import MachineFinding, Severity
from triton_doctor.variables import (
    INTERPRET,
    PTXAS,
    PTXAS_OF_NEWER_GPUS,
    TRUE_WORDS,
    Version,
    fails_with_kept_tuning,
    is_of_other_backend,
    looks_like_triton,
    meant,
    newest_version,
    ptxas_variable,
    turns_interpreter_on,
    variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from triton_doctor.machine.facts import Machine
    from triton_doctor.variables import Variable

HARMS = {
    "slow-kernels": "it slows kernels",
    "slow-compiles": "it slows compiles",
    "no-cache": "it disables a cache",
    "poisons-cache": "it poisons the cache",
    "prints": "it prints",
    "passes": "it leaves single passes out",
}
FALSE_WORDS = frozenset({"", "0", "false", "no", "off", "n"})
KNOBS = Version(3, 4)
# Compared with "1" in Python until 3.3 (3.3.1 runtime/jit.py:526 and :790, runtime/autotuner.py:137,
# compiler/compiler.py:235-248, backends/nvidia/compiler.py:415).
ONLY_ONE = frozenset(
    {
        INTERPRET,
        "TRITON_DEBUG",
        "TRITON_PRINT_AUTOTUNING",
        "TRITON_KERNEL_OVERRIDE",
        "TRITON_KERNEL_DUMP",
        "TRITON_ALWAYS_COMPILE",
        "DISABLE_PTXAS_OPT",
    }
)
# What asks for something of a compile, which interpreter mode leaves out.
OF_COMPILES = ("TRITON_ALWAYS_COMPILE", "TRITON_KERNEL_DUMP", "TRITON_KERNEL_OVERRIDE", "MLIR_ENABLE_DUMP")


class Contradiction(NamedTuple):
    """`name`, when on, does not do what it says while `other` is on, or off."""

    name: str
    other: str
    other_is_on: bool
    effect: str
    remedy: str


CONTRADICTIONS = (
    *(
        Contradiction(name, INTERPRET, True, "interpreted kernels are not compiled", f"unset {INTERPRET}")
        for name in OF_COMPILES
    ),
    Contradiction(
        "TRITON_KERNEL_DUMP",
        "TRITON_ALWAYS_COMPILE",
        False,
        "a kernel that is found in the cache is not dumped",
        "set TRITON_ALWAYS_COMPILE=1 beside it",
    ),
    Contradiction(
        "TRITON_DEFAULT_FP_FUSION",
        "TRITON_FORCE_DISABLE_FP_FUSION",
        True,
        "the latter wins",
        "unset one of them",
    ),
    Contradiction(
        "TORCHINDUCTOR_FX_GRAPH_CACHE",
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
        True,
        "the latter wins",
        "unset one of them",
    ),
)
# A folder or file for what another variable turns on.
COMPANIONS = {
    "MLIR_DUMP_PATH": "MLIR_ENABLE_DUMP",
    "TRITON_DUMP_DIR": "TRITON_KERNEL_DUMP",
    "TRITON_OVERRIDE_DIR": "TRITON_KERNEL_OVERRIDE",
}


def diagnose_variables(machine: Machine, version: Version) -> Iterator[MachineFinding]:
    """Yield TRD601 to TRD605, the findings about environment variables as Triton `version` reads them."""
    setting = machine.variables
    yield from find_interpreter(machine, version)
    for name, value in setting.items():
        variable = variables().get(name)
        if variable is None or not variable.read_by(version):
            yield from find_unknown(name, value, variable, version)
            continue
        ignored = list(find_ignored(variable, value, version))
        yield from ignored or find_debugging(variable, value)
    yield from find_ignored_tools(machine)
    yield from find_unused_ptxas(machine, version)
    yield from find_contradictions(setting, version)


def find_interpreter(machine: Machine, version: Version) -> Iterator[MachineFinding]:
    """Yield TRD601 if TRITON_INTERPRET makes Triton interpret kernels on the CPU."""
    value = machine.variables.get(INTERPRET, "")
    if not turns_interpreter_on(value, version):
        return
    yield MachineFinding(
        code="TRD601",
        severity=Severity.ERROR if machine.gpus else Severity.WARNING,
        message=f"`{INTERPRET}={value}`: every kernel is interpreted on the CPU, hundreds to thousands of times slower",
        evidence=f"it is set in this environment, and triton {version} reads it when a kernel is decorated"
        + ("; kernels tuned with `cache_results=True` fail in it" if fails_with_kept_tuning(version) else ""),
        remedy="unset it before Python starts; once kernels are decorated it is too late",
        command=f"unset {INTERPRET}",
    )


def find_debugging(variable: Variable, value: str) -> Iterator[MachineFinding]:
    """Yield TRD602 if `value` turns on something of `variable` that slows, prints, or disables a cache."""
    variable = variable.at(value)
    if not variable.harm or not variable.harmful(value):
        return
    yield MachineFinding(
        code="TRD602",
        severity=Severity.INFO if variable.harm in {"prints", "passes"} else Severity.WARNING,
        message=f"`{variable.name}={value}` is on: {HARMS[variable.harm]}",
        evidence=f"it is set in this environment; it {variable.effect}",
        remedy="unset it, unless this run is for debugging",
        command=f"unset {variable.name}",
    )


def find_unknown(name: str, value: str, variable: Variable | None, version: Version) -> Iterator[MachineFinding]:
    """Yield TRD603 if Triton `version` does not read the variable `name`.

    `variable` is its row in the table of known variables, None if no version of Triton reads it.
    """
    severity = Severity.WARNING
    command: str | None = f"unset {name}"
    if variable is not None:
        if not (name.startswith("TRITON_") or variable.instead):
            return
        message = f"triton {version} does not read `{name}`"
        if variable.last is not None and version > variable.last:
            evidence = f"triton {variable.last} was the last that did"
            remedy = f"set `{variable.instead}` instead" if variable.instead else "unset it"
        else:
            evidence = f"triton {variable.first} is the first that does"
            remedy = f"it takes triton {variable.first} or newer"
    elif is_of_other_backend(name):
        severity, command = Severity.INFO, None
        message, evidence = f"`{name}` is of another backend", "no NVIDIA or AMD backend of triton reads it"
        remedy = "unset it, unless that backend is installed"
    elif looks_like_triton(name):
        message, near = f"no triton up to {newest_version()} reads `{name}`", meant(name)
        is_slip = near is not None and near[1]
        evidence = "it is set in this environment" + (", and does nothing" if is_slip else "")
        harm = harm_of(near[0], value, version) if near is not None and near[1] else None
        if near is not None and harm is not None:
            remedy = f"did you mean `{near[0]}`? {harm}: unset it, unless this run is for debugging"
        elif near is not None and near[1]:
            remedy, command = f"did you mean `{near[0]}`?", f"unset {name}; export {near[0]}={shlex.quote(value)}"
        else:
            severity, command = Severity.INFO, None
            remedy = (
                f"the nearest that it reads is `{near[0]}`"
                if near
                else "another backend, a fork or a plug-in may read it"
            )
    else:
        return
    yield MachineFinding(
        code="TRD603", severity=severity, message=message, evidence=evidence, remedy=remedy, command=command
    )


def harm_of(name: str, value: str, version: Version) -> str | None:
    """Describe the harm that the known variable `name` does at `value`; None if it does none."""
    if name == INTERPRET:
        return "it makes every kernel slow" if turns_interpreter_on(value, version) else None
    variable = variables()[name].at(value)
    return HARMS[variable.harm] if variable.harm and variable.harmful(value) else None


def find_ignored(variable: Variable, value: str, version: Version) -> Iterator[MachineFinding]:
    """Yield TRD604 if `variable` is a switch and Triton reads `value` as off although it was meant as on."""
    word = value.strip().lower()
    if word in FALSE_WORDS or variable.name not in ONLY_ONE:
        return
    if version < KNOBS and value != "1":
        evidence = f"triton {version} compares it with 1, and nothing else turns it on"
    elif version >= KNOBS and value.lower() not in TRUE_WORDS:
        evidence = f"triton {version} takes 1, true, yes, on and y as on, and all else as off"
    else:
        return
    yield MachineFinding(
        code="TRD604",
        severity=Severity.WARNING,
        message=f"`{variable.name}={value}` is ignored",
        evidence=evidence,
        remedy="set it to 1, or unset it",
        command=f"export {variable.name}=1",
    )


def find_ignored_tools(machine: Machine) -> Iterator[MachineFinding]:
    """Yield TRD604 for each path of a ptxas that does not run: Triton then silently uses its own.

    (triton 3.9 knobs.py, env_nvidia_tool)
    """
    for tool in machine.ptxas:
        if tool.ignored is None:
            continue
        name = next((name for name, value in machine.variables.items() if value == tool.ignored), "TRITON_PTXAS_PATH")
        yield MachineFinding(
            code="TRD604",
            severity=Severity.WARNING,
            message=f"`{name}={tool.ignored}` is ignored: it does not run as ptxas",
            evidence=f"triton takes {tool.path} instead",
            remedy="name a ptxas that runs, or unset it",
            command=f"unset {name}",
        )


def find_unused_ptxas(machine: Machine, version: Version) -> Iterator[MachineFinding]:
    """Yield TRD605 if TRITON_PTXAS_PATH is set, and Triton uses another variable for a GPU of this machine."""
    if not machine.variables.get(PTXAS) or machine.variables.get(PTXAS_OF_NEWER_GPUS):
        return
    archs = [gpu.arch for gpu in machine.gpus if gpu.backend == "cuda" and gpu.arch and gpu.arch.isdigit()]
    if unused := [arch for arch in archs if ptxas_variable(version, int(arch)) != PTXAS]:
        yield contradiction(
            f"`{PTXAS}` does nothing for sm_{unused[0]}: triton {version} takes ptxas-blackwell there",
            machine.variables,
            PTXAS,
            f"set {PTXAS_OF_NEWER_GPUS} instead, or unset it",
        )


def find_contradictions(setting: Mapping[str, str], version: Version) -> Iterator[MachineFinding]:
    """Yield TRD605 for each variable that has no effect because of the value of another."""

    def is_on(name: str) -> bool:
        value = setting.get(name, "")
        return turns_interpreter_on(value, version) if name == INTERPRET else value.strip().lower() not in FALSE_WORDS

    def is_read(name: str) -> bool:
        return variables()[name].read_by(version) if name in variables() else True

    for entry in CONTRADICTIONS:
        if not (is_on(entry.name) and is_read(entry.name) and is_read(entry.other)):
            continue
        if is_on(entry.other) != entry.other_is_on:
            continue
        with_other = f"with `{entry.other}={setting[entry.other]}`" if entry.other_is_on else f"without `{entry.other}`"
        yield contradiction(
            f"`{entry.name}={setting[entry.name]}` {with_other}: {entry.effect}", setting, entry.name, entry.remedy
        )
    for name, switch in COMPANIONS.items():
        if setting.get(name) and not is_on(switch) and is_read(name):
            yield contradiction(
                f"`{name}` does nothing without `{switch}`", setting, name, f"set {switch}=1 beside it, or unset it"
            )


def contradiction(message: str, setting: Mapping[str, str], name: str, remedy: str) -> MachineFinding:
    """Build a finding TRD605 about the variable `name`, which is set in `setting`."""
    return MachineFinding(
        code="TRD605",
        severity=Severity.INFO,
        message=message,
        evidence=f"{name} is set to {setting[name]}",
        remedy=remedy,
    )
