"""Findings to plans: how each could be fixed, and whether that is safe. Told from the facts alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from triton_doctor.finding import Finding
from triton_doctor.plan import Change, DropArgument, Plan, Replace
from triton_doctor.static.project.project import Project
from triton_doctor.static.rules.fixes import (
    autotune_key_varies_per_call,
    constexpr_in_do_not_specialize,
    constexpr_never_read,
    constexpr_of_mixed_types,
    constexpr_varies_per_call,
    interpreter_mode_set_in_code,
    launch_option_shadowed,
    launch_option_varies,
    unknown_triton_variable,
)
from triton_doctor.static.sources.notebooks import SUFFIX
from triton_doctor.static.sources.source_text import Source

Planner: TypeAlias = Callable[[Project, Finding], Plan | None]

PLANNERS: dict[str, Planner] = {
    "TRD101": interpreter_mode_set_in_code.plan,
    "TRD104": unknown_triton_variable.plan,
    "TRD201": constexpr_varies_per_call.plan,
    "TRD202": constexpr_never_read.plan,
    "TRD203": constexpr_of_mixed_types.plan,
    "TRD204": constexpr_in_do_not_specialize.plan,
    "TRD207": launch_option_varies.plan,
    "TRD211": launch_option_shadowed.plan,
    "TRD301": autotune_key_varies_per_call.plan,
}


def planned(project: Project, finding: Finding) -> Finding:
    """The finding, of `project`, with how it could be fixed, if that is known."""
    planner = PLANNERS.get(finding.code)
    plan = planner(project, finding) if planner is not None else None
    if plan is None or any(change.path.endswith(SUFFIX) or _drops_binding(project, change) for change in plan.changes):
        return finding
    return replace(finding, fix=plan)


def _drops_binding(project: Project, change: Change) -> bool:
    """Whether the argument that goes binds a name, `(n := x.numel())`, which something after the launch may read."""
    if not isinstance(change, DropArgument | Replace) or (isinstance(change, Replace) and "{}" in change.text):
        return False
    return ":=" in Source(project.modules.source(change.path)).text_at(change.span)
