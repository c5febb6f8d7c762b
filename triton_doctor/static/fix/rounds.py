"""Fixes a workspace in rounds of find, plan and edit, until nothing fixable is left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.fix.write import Edited
from triton_doctor.static.scan import Scan, scan
from triton_doctor.static.sources.contents import read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.cache.scan_cache import ScanStore
    from triton_doctor.static.scan import Judge
    from triton_doctor.static.sources.workspace import Workspace

# A fix may enable another, such as the removal of an unused directive. More rounds than this are a cycle.
_MOST_ROUNDS = 10
# Rules whose fixes for one parameter conflict.
_OF_A_PARAMETER = frozenset({"TRD201", "TRD202", "TRD204"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """The findings `made` and `left` (with reasons), the edited `files`, and the `scan` of the result."""

    scan: Scan
    made: tuple[Finding, ...]
    left: tuple[tuple[Finding, str], ...]
    files: Mapping[str, Edited]


def fix(
    workspace: Workspace,
    *,
    unsafe: bool,
    without: Container[tuple[str, ...]] = (),
    narrow: Callable[[Scan], Scan] = lambda found: found,
    weigh: Judge | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
    cache: ScanStore | None = None,
) -> Fixed:
    """Fix what the user selected in `workspace`, in memory; with unsafe fixes if `unsafe`.

    Skips what `narrow` removes, what `without` names, what is less severe than the setting `fail_on`, and files that
    changed since the scan.
    """
    settings = workspace.settings
    current = {file.shown: file for file in workspace.files}
    before: dict[str, bytes] = {}
    made: list[Finding] = []
    left: dict[tuple[str, ...], tuple[Finding, str]] = {}
    look = partial(
        scan,
        settings=settings,
        cwd=workspace.base,
        projects=workspace.projects,
        report_paths=workspace.report_paths,
        weigh=weigh,
        cache=cache,
    )
    found = look(workspace.files, on_progress=on_progress)
    others = {name_of(finding) for finding in found.findings} - {name_of(finding) for finding in narrow(found).findings}
    for _ in range(_MOST_ROUNDS):
        accepted = ("safe", "unsafe") if unsafe else ("safe",)
        fixable = [
            finding
            for finding in found.findings
            if finding.fixable in accepted and finding.severity >= settings.fail_on
        ]
        wanted = [finding for finding in fixable if name_of(finding) not in without and name_of(finding) not in others]
        if not wanted:
            break
        from triton_doctor.static.fix.apply import Workbench  # also imports libcst

        applied = Workbench(found.source_of).apply(_one_a_parameter(wanted))
        left.update((name_of(finding), (finding, why)) for finding, why in applied.left)
        for path, data in applied.files.items():
            source = found.source_of(path)
            assert source is not None
            before.setdefault(path, source)
            current[path] = current[path]._replace(text=data)
        for fixed in applied.made:
            left.pop(name_of(fixed), None)
        made += applied.made
        if not applied.made:
            break
        found = look(tuple(current.values()), on_progress=on_progress)
    edited = {path: Edited(current[path].path, data, read_bytes(current[path])) for path, data in before.items()}
    return Fixed(
        scan=found,
        made=tuple(made),
        left=tuple(left.values()),
        files={path: file for path, file in edited.items() if file.before != file.after},
    )


def name_of(finding: Finding) -> tuple[str, ...]:
    """Return what identifies a finding when lines move."""
    facts = finding.facts
    return (finding.code, finding.path, facts.kernel or "", facts.parameter or "", finding.message)


def _one_a_parameter(findings: Iterable[Finding]) -> list[Finding]:
    """Return the first finding for each parameter; its fix may settle the others."""
    taken = set[tuple[str, int, str]]()
    chosen = []
    for finding in sorted(findings, key=lambda candidate: (candidate.code, candidate.order)):
        location, name = finding.facts.kernel_location, finding.facts.parameter
        if location is not None and name is not None and finding.code in _OF_A_PARAMETER:
            key = (location.path, location.line, name)
            if key in taken:
                continue
            taken.add(key)
        chosen.append(finding)
    return chosen
