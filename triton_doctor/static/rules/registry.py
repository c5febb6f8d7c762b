"""All rules by code, and the run of the selected rules over a project, with fixes."""

from __future__ import annotations

import pkgutil
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from triton_doctor.plan import Change, DropArgument, Replace
from triton_doctor.static import rules
from triton_doctor.static.sources.notebooks import SUFFIX
from triton_doctor.static.sources.source_text import SourceText
from triton_doctor.static.variability.queries.configs import fold_tuning
from triton_doctor.static.variability.queries.description import find_undecided

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.finding import Finding, Undecided
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.rules import Rule


@cache
def all_rules() -> dict[str, Rule]:
    """Return every rule by its code: the `RULE` of each module in this folder."""
    names = (found.name for found in pkgutil.iter_modules(rules.__path__))
    modules = (import_module(f"{rules.__name__}.{name}") for name in names if f"{rules.__name__}.{name}" != __name__)
    found: Iterator[Rule] = (module.RULE for module in modules)
    return {rule.code: rule for rule in sorted(found, key=lambda rule: rule.code)}


def find_planned(
    project: Project, path: str, *, codes: frozenset[str]
) -> tuple[tuple[Finding, ...], tuple[Undecided, ...]]:
    """Return the findings of the rules `codes` about `path`, with fixes, and the undecided constexprs."""
    found = tuple(plan_fix(project, finding) for finding in fold_tuning(run_checks(project, codes, path)))
    return found, find_undecided(project)


def run_checks(project: Project, codes: frozenset[str], path: str) -> Iterator[Finding]:
    """Yield the findings of the rules `codes` in `project`, the part about `path`. An exception names the rule."""
    for code, rule in all_rules().items():
        if code in codes:
            try:
                yield from rule.check(project)
            except Exception as error:
                error.add_note(f"{code} was checking {path}")
                raise


def plan_fix(project: Project, finding: Finding) -> Finding:
    """Return `finding` with its plan, if there is one."""
    rule = all_rules().get(finding.code)
    plan = rule.plan(project, finding) if rule is not None and rule.plan is not None else None
    if plan is None or any(change.path.endswith(SUFFIX) or _drops_binding(project, change) for change in plan.changes):
        return finding
    return replace(finding, fix=plan)


def _drops_binding(project: Project, change: Change) -> bool:
    """Return whether the removed argument binds a name, `(n := x.numel())`, that later code may read."""
    if not isinstance(change, DropArgument | Replace) or (isinstance(change, Replace) and "{}" in change.text):
        return False
    return ":=" in SourceText(project.modules.source(change.path)).text_at(change.span)
