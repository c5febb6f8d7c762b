"""Rewrites the paths of findings from relative-to-project to relative-to-working-directory."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from triton_doctor.static.sources.files import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from triton_doctor.finding import Finding, Location
    from triton_doctor.plan import Plan


def path_shower(base: Path, cwd: Path) -> Callable[[str], str]:
    """Return a function that rewrites a path relative to `base` as a user in `cwd` writes it.

    A file of a project around `cwd` becomes `../train.py`; a file elsewhere gets its absolute path.
    """
    if base == cwd:
        return lambda path: path

    @cache
    def show(path: str) -> str:
        absolute = (base / path).as_posix()
        shown = shown_path(absolute, cwd)
        if shown == absolute and cwd.is_relative_to(base) and (base / path).is_relative_to(base):
            return os.path.relpath(absolute, cwd).replace(os.sep, "/")
        return shown

    return show


def show_finding(finding: Finding, show: Callable[[str], str]) -> Finding:
    """Return `finding` with `show` applied to each of its paths."""

    def show_location(location: Location | None) -> Location | None:
        return replace(location, path=show(location.path)) if location is not None else None

    facts = finding.facts
    return replace(
        finding,
        path=show(finding.path),
        facts=replace(
            facts,
            kernel_location=show_location(facts.kernel_location),
            parameter_location=show_location(facts.parameter_location),
            also=tuple(replace(location, path=show(location.path)) for location in facts.also),
            hints=tuple(replace(hint, location=show_location(hint.location)) for hint in facts.hints),
        ),
        trail=tuple(replace(step, path=show(step.path)) for step in finding.trail),
        fix=_show_plan(finding.fix, show) if finding.fix is not None else None,
    )


def _show_plan(plan: Plan, show: Callable[[str], str]) -> Plan:
    return replace(
        plan,
        changes=tuple(replace(change, path=show(change.path)) for change in plan.changes),
        kernel=plan.kernel._replace(path=show(plan.kernel.path)) if plan.kernel is not None else None,
        launches=tuple(launch._replace(path=show(launch.path)) for launch in plan.launches),
    )
