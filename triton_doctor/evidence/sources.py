"""Reads the sources of recorded kernels, where they exist: the use of each parameter, and the rules that fire.

Reads the files of the kernels and of their launches, and no others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.runtime.event import KernelName
    from triton_doctor.static.project.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSource:
    """One kernel as its source is now. `uses` are `compile_time`, `read` or `unread`, by parameter.

    Plain parameters that the kernel reads are left out of `uses`. `unrolled` are constexprs that unroll a loop. `found`
    are the rules that fire on the kernel, as (code, parameter); the parameter is None where a rule names none.
    """

    uses: Mapping[str, str] = field(default_factory=dict)
    found: frozenset[tuple[str, str | None]] = frozenset()
    unrolled: tuple[str, ...] = ()


def read_sources(kernels: Iterable[KernelName], launched_in: Iterable[str] = ()) -> Mapping[KernelName, KernelSource]:
    """Read the sources of those `kernels` that are still at their path and line.

    `launched_in` are paths of files that launch them.
    """
    wanted = {(name.path, name.line, name.name): name for name in kernels}
    paths = [Path(path) for path in dict.fromkeys([*(path for path, _, _ in wanted), *launched_in])]
    there = [path for path in paths if path.is_absolute() and path.suffix == ".py" and path.is_file()]
    if not there:
        return {}
    from triton_doctor.settings import Settings
    from triton_doctor.static.project.launches.launches import launches_of
    from triton_doctor.static.scan import scan
    from triton_doctor.static.sources.files import find_files
    from triton_doctor.static.variability.queries.parameter_uses import ParameterUses
    from triton_doctor.static.variability.queries.parameters import Parameters

    root = Path("/")
    read: dict[KernelName, KernelSource] = {}

    def look(project: Project, findings: Sequence[Finding]) -> list[Finding]:
        every = Parameters(project)
        plain = ParameterUses(project, launches_of(project))
        for kernel in project.kernels():
            name = wanted.get(((root / kernel.path).as_posix(), kernel.line, kernel.name))
            if name is not None:
                own = [finding for finding in findings if _is_of(finding, kernel.path, kernel.line)]
                constexprs = list(every.of(kernel, lambda _, param: param.is_constexpr))
                uses = {parameter.param.name: parameter.use for parameter in constexprs}
                others = (param.name for param in kernel.params if not param.is_constexpr)
                unread = {name: "unread" for name in others if plain.without_need(kernel, name) == "unread"}
                read[name] = KernelSource(
                    uses=uses | unread,
                    unrolled=tuple(parameter.param.name for parameter in constexprs if parameter.need == "unrolled"),
                    found=frozenset((finding.code, finding.facts.parameter) for finding in own),
                )
        return list(findings)

    settings = Settings(root=root)
    try:
        scan(list(find_files(there, settings, cwd=root)), settings, cwd=root, weigh=look)
    except OSError:  # a file that vanished meanwhile: what could be read was
        return read
    return read


def _is_of(finding: Finding, path: str, line: int) -> bool:
    place = finding.facts.kernel_location
    return place is not None and (place.path, place.line) == (path, line)
