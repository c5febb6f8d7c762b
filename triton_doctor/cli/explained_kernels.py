"""A workspace and the name of a kernel to what decides its variants, and what `check` reports about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.selection import is_selected
from triton_doctor.static.project.analysis.parts import empty_project, parts_about, whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.rules.registry import all_rules, run_checks
from triton_doctor.static.scan import ignore_per_file
from triton_doctor.static.sources.directives import read_python_directives
from triton_doctor.static.sources.ignore_rules import PathPatterns
from triton_doctor.static.sources.shown_paths import path_shower
from triton_doctor.static.suppression.suppress import suppress
from triton_doctor.static.variability.queries.configs import fold_tuning
from triton_doctor.static.variability.queries.description import explain, show_kernel, unknown_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.cache.scan_cache import ScanStore
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.sources.workspace import Workspace
    from triton_doctor.static.variability.queries.description import ExplainedKernel


@emptying_scan_caches()
def explain_kernels(
    workspace: Workspace,
    pattern: str,
    cache: ScanStore,
    *,
    cwd: Path,
    on_progress: Callable[[int], None] = lambda done: None,
) -> tuple[ExplainedKernel, ...]:
    """Explain the kernels of the workspace that match `pattern`, with paths relative to `cwd`.

    The cache of `check` is used, but not changed. Raises DoctorError if no kernel matches.
    """
    settings, base = workspace.settings, workspace.base
    kept = cache.read()
    database = Database(workspace.files, kept.seen)
    before, changes = kept.load_rest().after_edits(database, PathPatterns(settings.root, settings.tests, base))
    empty = empty_project(database, settings, base)
    parts = parts_about(empty, database, pattern, before, changes, on_progress)

    def reported(project: Project) -> Iterator[Finding]:
        codes = (code for code in all_rules() if is_selected(code, select=settings.select, ignore=settings.ignore))
        found = fold_tuning(run_checks(project, frozenset(codes), pattern))
        paths = {finding.path for finding in found} | set(project.scope)
        directives = {path: read_python_directives(database.python[path]) for path in paths if path in database.python}
        # No complaint about comments: what they are for is not all looked at.
        shown = suppress(found, directives, ran=frozenset(), known=frozenset())
        return ignore_per_file(shown, settings, base)

    asked = workspace.report_paths
    kernels = tuple(
        kernel
        for project in parts
        if asked is None or not asked.isdisjoint(project.scope)
        for kernel in explain(project, pattern, reported)
    )
    if not kernels:
        every = whole_project(database, settings, base)
        raise unknown_kernel(
            pattern, (kernel.name for kernel in every.kernels() if asked is None or kernel.path in asked)
        )
    show = path_shower(base, cwd)
    return tuple(show_kernel(kernel, show) for kernel in kernels)


@emptying_scan_caches()
def list_kernels(workspace: Workspace, *, cwd: Path) -> list[str]:
    """Return the kernels of the files asked for, with their places as seen from `cwd`."""
    show, asked = path_shower(workspace.base, cwd), workspace.report_paths
    kernels = whole_project(Database(workspace.files), workspace.settings, workspace.base).kernels()
    return sorted(
        f"{show(kernel.path)}:{kernel.line}: {kernel.name}"
        for kernel in kernels
        if asked is None or kernel.path in asked
    )
