"""Each file to what is found in it: by every check, over the part of the project that is about that file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.checks import CHECKS
from triton_doctor.static.plans import planned
from triton_doctor.static.project import part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.finding import Finding
    from triton_doctor.static.library import Library
    from triton_doctor.static.memory import Memory
    from triton_doctor.static.model import Project
    from triton_doctor.static.modules import Changes, Rests
    from triton_doctor.static.shares import Shares


class Answer(NamedTuple):
    """What is `found` in one file, whose kernels the files `launchers` launch.

    `unreadable` are the findings of the files that should have been read for it, and could not be.
    """

    found: tuple[Finding, ...]
    unreadable: tuple[Finding, ...]
    launchers: tuple[str, ...]
    rests: Rests


def answer_all(
    project: Project, library: Library, shares: Shares, codes: frozenset[str], memory: Memory, changes: Changes
) -> dict[str, Answer]:
    """The answers of the checks of `codes`, by path; those of `memory` that stand after `changes` are taken over."""
    project = replace(project, set_anywhere=shares.variables)
    launchers = shares.launchers()
    answers = {}
    for path in shares.by_path:
        from_where = launchers.get(path, ())
        kept = memory.answers.get(path) if memory.variables == shares.variables else None
        if kept is None or not _stands(kept, path, from_where, shares, changes):
            kept = _answer(project, library, shares, codes, path, from_where)
        answers[path] = kept
    return answers


def _stands(kept: Answer, path: str, launchers: tuple[str, ...], shares: Shares, changes: Changes) -> bool:
    return (
        path not in changes.paths
        and kept.launchers == launchers
        and shares.anew.isdisjoint(launchers)
        and kept.rests.stands(changes)
    )


def _answer(
    project: Project, library: Library, shares: Shares, codes: frozenset[str], path: str, launchers: tuple[str, ...]
) -> Answer:
    starting = [
        one
        for launcher in launchers
        for one in shares.launches(launcher)
        if any(kernel.path == path for kernel in one.kernels)
    ]
    own = part(project, library, path, starting)
    found = tuple(planned(own, finding) for finding in run_checks(own, codes, path))
    rests = own.modules.rests()
    return Answer(found, tuple(library.unreadable_among({path, *rests.consulted})), launchers, rests)


def run_checks(project: Project, codes: frozenset[str], path: str) -> Iterator[Finding]:
    """What the checks of `codes` find in `project`, the part about `path`. A check that crashes says which it was."""
    for code, check in CHECKS.items():
        if code in codes:
            try:
                yield from check(project)
            except Exception as error:
                error.add_note(f"{code} was checking {path}")
                raise
