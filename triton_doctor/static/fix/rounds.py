"""Files to fixed files: find, plan, edit, and again, until nothing that may be fixed is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.static.fix.write import Edited
from triton_doctor.static.plan import Plan, Safety
from triton_doctor.static.reader import read_bytes
from triton_doctor.static.scan import Scan, scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from triton_doctor.settings import Settings
    from triton_doctor.static.files import SourceFile

# A fix may bring another about, a comment that silences nothing any more for one. More rounds than this are a circle.
_MOST_ROUNDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """What was `made`, what was `left` and why, the `files` so edited, and what `scan` finds in them."""

    scan: Scan
    made: tuple[Plan, ...]
    left: tuple[tuple[Plan, str], ...]
    files: Mapping[str, Edited]


def fix(
    files: Sequence[SourceFile],
    settings: Settings,
    *,
    cwd: Path,
    unsafe: bool,
    without: Iterable[Plan] = (),
    on_progress: Callable[[int], None] = lambda done: None,
) -> Fixed:
    """Fix `files` in memory, the unsafe way too where `unsafe`. Fixes `without` which it is to go are not made."""
    refused = {_name(plan) for plan in without}
    current = {file.shown: file for file in files}
    before: dict[str, bytes] = {}
    made: list[Plan] = []
    left: dict[tuple[str, ...], tuple[Plan, str]] = {}
    found = scan(files, settings, cwd=cwd, on_progress=on_progress)
    for _ in range(_MOST_ROUNDS):
        wanted = [plan for plan in found.plans if (unsafe or plan.safety is Safety.SAFE) and _name(plan) not in refused]
        if not wanted:
            break
        from triton_doctor.static.fix.apply import Workbench  # and libcst with it

        applied = Workbench(lambda path: read_bytes(current[path])).apply(_one_a_parameter(wanted))
        left.update((_name(plan), (plan, why)) for plan, why in applied.left)
        for path, data in applied.files.items():
            before.setdefault(path, read_bytes(current[path]))
            current[path] = replace(current[path], text=data)
        for plan in applied.made:
            left.pop(_name(plan), None)
        made += applied.made
        if not applied.made:
            break
        found = scan(tuple(current.values()), settings, cwd=cwd)
    edited = {path: Edited(current[path].path, data, read_bytes(current[path])) for path, data in before.items()}
    return Fixed(
        scan=found,
        made=tuple(made),
        left=tuple(left.values()),
        files={path: file for path, file in edited.items() if file.before != file.after},
    )


def _name(plan: Plan) -> tuple[str, ...]:
    """What tells a fix from another, whatever lines have moved."""
    facts = plan.finding.facts
    return (plan.finding.code, plan.finding.path, facts.kernel or "", facts.parameter or "", plan.finding.message)


def _one_a_parameter(plans: Iterable[Plan]) -> list[Plan]:
    """The first fix of each parameter; what another rule has to say of it may be settled by that."""
    taken = set[tuple[str, int, str]]()
    chosen = []
    for plan in sorted(plans, key=lambda plan: (plan.finding.code, plan.finding.order)):
        place, name = plan.finding.facts.kernel_place, plan.finding.facts.parameter
        if place is not None and name is not None and plan.finding.code in _OF_A_PARAMETER:
            key = (place.path, place.line, name)
            if key in taken:
                continue
            taken.add(key)
        chosen.append(plan)
    return chosen


_OF_A_PARAMETER = frozenset({"TRD201", "TRD202", "TRD203", "TRD204"})
