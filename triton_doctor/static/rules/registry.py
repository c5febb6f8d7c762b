"""Rules by their codes, and a project to its findings: what the selected rules find, each with its fix."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TypeAlias

from triton_doctor.finding import Finding, Undecided
from triton_doctor.plan import Change, DropArgument, Plan, Replace
from triton_doctor.static import rules
from triton_doctor.static.project.project import Project
from triton_doctor.static.sources.notebooks import SUFFIX
from triton_doctor.static.sources.source_text import SourceText
from triton_doctor.static.variability.explain import find_undecided
from triton_doctor.static.variability.tuning import fold_tuning

Check: TypeAlias = Callable[[Project], Iterator[Finding]]
Planner: TypeAlias = Callable[[Project, Finding], Plan | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What `check` finds under `code`, and how `plan` would fix it; None where no fix is known."""

    code: str
    check: Check
    plan: Planner | None = None


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule, by its code: the `RULE` of each module beside this one."""
    names = (found.name for found in pkgutil.iter_modules(rules.__path__))
    modules = (import_module(f"{rules.__name__}.{name}") for name in names if f"{rules.__name__}.{name}" != __name__)
    found: Iterator[Rule] = (module.RULE for module in modules)
    return {rule.code: rule for rule in sorted(found, key=lambda rule: rule.code)}


def find_planned(
    project: Project, path: str, *, codes: frozenset[str]
) -> tuple[tuple[Finding, ...], tuple[Undecided, ...]]:
    """What the rules of `codes` find in `project`, the part about `path`, with its fixes, and what stays undecided."""
    found = tuple(plan_fix(project, finding) for finding in fold_tuning(run_checks(project, codes, path)))
    return found, find_undecided(project)


def run_checks(project: Project, codes: frozenset[str], path: str) -> Iterator[Finding]:
    """What the rules of `codes` find in `project`, the part about `path`. A check that crashes says which it was."""
    for code, rule in all_rules().items():
        if code in codes:
            try:
                yield from rule.check(project)
            except Exception as error:
                error.add_note(f"{code} was checking {path}")
                raise


def plan_fix(project: Project, finding: Finding) -> Finding:
    """The finding, of `project`, with how it could be fixed, if that is known."""
    rule = all_rules().get(finding.code)
    plan = rule.plan(project, finding) if rule is not None and rule.plan is not None else None
    if plan is None or any(change.path.endswith(SUFFIX) or _drops_binding(project, change) for change in plan.changes):
        return finding
    return replace(finding, fix=plan)


def _drops_binding(project: Project, change: Change) -> bool:
    """Whether the argument that goes binds a name, `(n := x.numel())`, which something after the launch may read."""
    if not isinstance(change, DropArgument | Replace) or (isinstance(change, Replace) and "{}" in change.text):
        return False
    return ":=" in SourceText(project.modules.source(change.path)).text_at(change.span)
