"""One file to the arguments of its launches and the parameters of its kernels: how often each changes, and why."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from glob import escape
from typing import TYPE_CHECKING

from triton_doctor.finding import Span
from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.static.project.analysis.parts import empty_project, project_part
from triton_doctor.static.project.analysis.summaries import FileSummaries
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.python.printing import spell
from triton_doctor.static.sources.ignore_rules import PathPatterns
from triton_doctor.static.variability.queries.description import ExplainedKernel, explain, hint_notes, trail
from triton_doctor.static.variability.queries.parameters import Parameters

if TYPE_CHECKING:
    from triton_doctor.finding import HintNote, Step
    from triton_doctor.static.project.cache.scan_cache import ScanStore
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.sources.workspace import Workspace
    from triton_doctor.static.variability.values.lattice import Variability


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelInFile:
    """A kernel that the file defines or launches, and what is known of it.

    `is_here` is whether the file defines it; `launched` is where the file names it in a launch.
    """

    kernel: Kernel
    explained: ExplainedKernel
    is_here: bool
    launched: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentInFile:
    """What a launch in the file gives as the constexpr, or the part of an autotune key, `parameter` of `kernel`."""

    span: Span
    kernel: Kernel
    parameter: str
    kind: Variability
    trail: tuple[Step, ...]
    in_autotune_key: bool
    hints: tuple[HintNote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedFile:
    """What is known of one file: its kernels, and the arguments of its launches."""

    kernels: tuple[KernelInFile, ...] = ()
    arguments: tuple[ArgumentInFile, ...] = ()


@emptying_scan_caches()
def explain_file(workspace: Workspace, path: str, memory: ScanStore) -> ExplainedFile:
    """Explain the file at `path`, as findings spell it. What `memory` has of the last scan is not worked out again."""
    settings, base = workspace.settings, workspace.base
    kept = memory.read()
    database = Database(workspace.files, kept.seen)
    if kept.modules is not None:
        database.kept = kept.modules
    before, changes = kept.load_rest().after_edits(database, PathPatterns(settings.root, settings.tests, base))
    summaries = FileSummaries(database, before.summaries, changes)
    for subject in database.subjects():
        summaries.add(subject)
    summaries.add_launchers()
    if path not in summaries.by_path:
        return ExplainedFile()
    empty = replace(empty_project(database, settings, base), set_anywhere=summaries.variables)
    launchers = summaries.launchers()
    kernels: list[KernelInFile] = []
    arguments: list[ArgumentInFile] = []
    for home in sorted({path, *summaries.by_path[path].homes}):
        starting = [
            launch
            for launcher in launchers.get(home, ())
            for launch in summaries.launches(launcher)
            if any(kernel.path == home for kernel in launch.kernels)
        ]
        part = project_part(empty, database, home, starting)
        launched = _launched(part, path)
        for kernel in part.kernels():
            if home == path or kernel.key in launched:
                explained = next(
                    described
                    for described in explain(part, escape(kernel.name))
                    if (described.location.line, described.name) == (kernel.line, kernel.name)
                )
                at = tuple(launched[kernel.key])
                kernels.append(KernelInFile(kernel=kernel, explained=explained, is_here=home == path, launched=at))
        arguments += _arguments(part, path)
    return ExplainedFile(kernels=tuple(kernels), arguments=tuple(sorted(arguments, key=lambda argument: argument.span)))


def _launched(part: Project, path: str) -> defaultdict[tuple[str, str, int], list[Span]]:
    """Return where the launches in the file at `path` name their kernels, by `Kernel.key`."""
    found: defaultdict[tuple[str, str, int], list[Span]] = defaultdict(list)
    for launch in part.launches:
        if launch.module.path == path:
            start = launch.launch.span
            end = start.column + len(spell(launch.launch.kernel))
            for kernel in launch.kernels:
                found[kernel.key].append(Span(start.line, start.column, start.line, end))
    return found


def _arguments(part: Project, path: str) -> list[ArgumentInFile]:
    """Return what the launches in the file at `path` pass to the kernels of `part`, without repetition."""
    launched = {kernel.key for launch in part.launches if launch.module.path == path for kernel in launch.kernels}
    every = Parameters(part)
    found: dict[tuple[Span, str], ArgumentInFile] = {}
    for kernel in part.kernels():
        if kernel.key not in launched:
            continue
        keys = kernel.autotune.key if kernel.autotune is not None else ()
        for parameter in every.of(kernel, lambda _, param, keys=keys: param.is_constexpr or param.name in keys):  # type: ignore[misc]
            for source in parameter.sources:
                if source.path == path and source.launch.module.path == path:
                    found.setdefault(
                        (source.span, parameter.param.name),
                        ArgumentInFile(
                            span=source.span,
                            kernel=kernel,
                            parameter=parameter.param.name,
                            kind=source.kind,
                            trail=trail(parameter, source),
                            in_autotune_key=parameter.in_autotune_key,
                            hints=hint_notes(source.number),
                        ),
                    )
    return list(found.values())
