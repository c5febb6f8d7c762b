"""Each file to what is found in it: by every check, over the part of the project that is about that file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.checks import CHECKS
from triton_doctor.static.plans import planned
from triton_doctor.static.project import part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


class Inquiry(NamedTuple):
    """What is to be found: by the checks of `codes`, in `library`, where what `memory` holds may stand after `changes`.

    `project` has no files yet.
    """

    project: Project
    library: Library
    codes: frozenset[str]
    memory: Memory
    changes: Changes


def answer(inquiry: Inquiry, shares: Shares, paths: Iterable[str]) -> dict[str, Answer]:
    """The answers about the files at `paths`; what still stands is taken over."""
    inquiry = inquiry._replace(project=replace(inquiry.project, set_anywhere=shares.variables))
    launchers = shares.launchers()
    answers = {}
    for path in paths:
        from_where = launchers.get(path, ())
        kept = inquiry.memory.answers.get(path) if inquiry.memory.variables == shares.variables else None
        if kept is None or not _stands(kept, path, from_where, shares, inquiry.changes):
            kept = _answer(inquiry, shares, path, from_where)
        answers[path] = kept
    return answers


def _stands(kept: Answer, path: str, launchers: tuple[str, ...], shares: Shares, changes: Changes) -> bool:
    return (
        path not in changes.paths
        and kept.launchers == launchers
        and shares.anew.isdisjoint(launchers)
        and kept.rests.stands(changes)
    )


def _answer(inquiry: Inquiry, shares: Shares, path: str, launchers: tuple[str, ...]) -> Answer:
    starting = [
        one
        for launcher in launchers
        for one in shares.launches(launcher)
        if any(kernel.path == path for kernel in one.kernels)
    ]
    own = part(inquiry.project, inquiry.library, path, starting)
    found = tuple(planned(own, finding) for finding in run_checks(own, inquiry.codes, path))
    rests = own.modules.rests()
    return Answer(found, tuple(inquiry.library.unreadable_among({path, *rests.consulted})), launchers, rests)


def run_checks(project: Project, codes: frozenset[str], path: str) -> Iterator[Finding]:
    """What the checks of `codes` find in `project`, the part about `path`. A check that crashes says which it was."""
    for code, check in CHECKS.items():
        if code in codes:
            try:
                yield from check(project)
            except Exception as error:
                error.add_note(f"{code} was checking {path}")
                raise
