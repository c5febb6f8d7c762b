"""Matches kernels of a recording with those of a project, by name and module or the end of the path.

Never by name alone. The paths of a recording are those of the machine that recorded it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from triton_doctor.evidence.recorded_kernels import RecordedKernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from triton_doctor.evidence.recorded_kernels import Process
    from triton_doctor.runtime.event import KernelName
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel

KernelKey = tuple[str, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """The recorded runs of the project's kernels, by `Kernel.key`, and the `ambiguous` names that fit several."""

    seen: Mapping[KernelKey, RecordedKernel]
    ambiguous: tuple[str, ...]


def match(project: Project, recorded: Mapping[KernelName, tuple[Process, ...]], cwd: Path) -> Matched:
    """Find the kernel of `project` for each recorded kernel; paths of `project` are relative to `cwd`, or absolute."""
    parameters = {name: RecordedKernel(processes=processes).parameters for name, processes in recorded.items()}
    owners = find_owners(project, parameters, cwd)
    found: defaultdict[KernelKey, list[Process]] = defaultdict(list)
    for name, kernels in owners.items():
        if len(kernels) == 1:
            found[kernels[0].key] += recorded[name]
    return Matched(
        seen={key: RecordedKernel(processes=tuple(processes)) for key, processes in found.items()},
        ambiguous=tuple(sorted({name.name for name, kernels in owners.items() if len(kernels) > 1})),
    )


def find_owners(
    project: Project, parameters: Mapping[KernelName, frozenset[str]], cwd: Path
) -> dict[KernelName, Sequence[Kernel]]:
    """Return the kernels of `project` that each recorded kernel may be, by the names of its parameters."""
    by_name: defaultdict[str, list[Kernel]] = defaultdict(list)
    for kernel in project.kernels():
        by_name[kernel.name].append(kernel)
    return {name: owners_of(name, names, by_name.get(name.name, ()), cwd) for name, names in parameters.items()}


def owners_of(
    name: KernelName, parameters: frozenset[str], candidates: Iterable[Kernel], cwd: Path
) -> Sequence[Kernel]:
    """Return those of `candidates` that may be the recorded kernel `name`; several where nothing distinguishes them.

    All candidates have the name of the recorded kernel.
    """
    fits = [(kernel, fit) for kernel in candidates if any(fit := fit_of(name, (cwd / kernel.path).as_posix()))]
    best = max((fit for _, fit in fits), default=None)
    owners = [kernel for kernel, fit in fits if fit == best]
    for narrower in (
        lambda kernel: parameters == {param.name for param in kernel.params},
        lambda kernel: kernel.line == name.line,
    ):
        if len(owners) > 1:
            owners = list(filter(narrower, owners)) or owners
    return owners


def fit_of(name: KernelName, path: str) -> tuple[int, int]:
    """Return how many last parts of the module, and of the path, of `name` agree with the file at `path`; (0, 0): none.

    For a script the file name is enough, since its folder may have any name; for a module of a package it is not.
    """
    here = _parts(path)
    there = _parts(name.path.replace("\\", "/"))
    shared = _shared(here, there)
    module = name.module.split(".")
    in_package = len(module) > 1
    of_module = len(module) if here[-len(module) :] == module and name.module != "__main__" else 0
    return (of_module, shared) if of_module or shared > in_package else (0, 0)


def is_program(path: str, recorded: str) -> bool:
    """Return whether the file at `path` is the script `recorded` of a command, by its last two path parts."""
    there = _parts(recorded.replace("\\", "/"))
    return bool(there) and _shared(_parts(path), there) >= min(len(there), 2)


def _shared(here: Sequence[str], there: Sequence[str]) -> int:
    pairs = zip(reversed(here), reversed(there), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _parts(path: str) -> list[str]:
    """Return the path of a Python file as parts of a module name, without `.py` and `__init__`."""
    parts = list(PurePosixPath(path).with_suffix("").parts) if path.strip("./") else []
    return parts[:-1] if parts[-1:] == ["__init__"] else parts
