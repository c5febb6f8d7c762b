"""A project to its findings, by the checks of the codes that are selected, each with its fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.rules import CHECKS
from triton_doctor.static.rules.fixes import planned
from triton_doctor.static.variability.tuning import fold_tuning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import Project


def find_planned(project: Project, path: str, *, codes: frozenset[str]) -> tuple[Finding, ...]:
    """What the checks of `codes` find in `project`, the part about `path`, with how it could be fixed."""
    return tuple(planned(project, finding) for finding in fold_tuning(run_checks(project, codes, path)))


def run_checks(project: Project, codes: frozenset[str], path: str) -> Iterator[Finding]:
    """What the checks of `codes` find in `project`, the part about `path`. A check that crashes says which it was."""
    for code, check in CHECKS.items():
        if code in codes:
            try:
                yield from check(project)
            except Exception as error:
                error.add_note(f"{code} was checking {path}")
                raise
