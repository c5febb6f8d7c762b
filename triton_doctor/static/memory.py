"""What one scan leaves for the next: of each file by content, and of each answer what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.importers import last_name
from triton_doctor.static.library import Known
from triton_doctor.static.prefilter import Role, taken_names
from triton_doctor.static.rests import ChangedFile, Changes
from triton_doctor.static.results import FileResult, Reading
from triton_doctor.static.texts import NOTHING_SEEN, Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from triton_doctor.finding import Finding
    from triton_doctor.static.directives import Directive
    from triton_doctor.static.kernel_uses import KernelUses
    from triton_doctor.static.library import Library
    from triton_doctor.static.rests import Rests


class Share(NamedTuple):
    """What one file adds: the names of its `kernels`, the variables it `sets`, and its launches.

    For each launch, `starts` has the kernels that it may start, by path and qualified name; none where it is not known.
    `unreadable` is as in Answer.
    """

    kernels: tuple[str, ...]
    sets: frozenset[str]
    starts: tuple[tuple[tuple[str, str], ...], ...]
    unreadable: tuple[Finding, ...]
    rests: Rests

    @property
    def homes(self) -> frozenset[str]:
        """The files whose kernels its launches may start."""
        return frozenset(home for kernels in self.starts for home, _ in kernels)


class Answer(NamedTuple):
    """What is `found` in one file, whose kernels the files `launchers` launch.

    `unreadable` are the findings of the files that should have been read for it, and could not be. `variables` are
    those that it was asked of whether some file sets them, and whether one did.
    """

    found: tuple[Finding, ...]
    unreadable: tuple[Finding, ...]
    launchers: tuple[str, ...]
    variables: frozenset[tuple[str, bool]]
    rests: Rests


class Outcome(NamedTuple):
    """What a scan came to, by path; `checks` are the codes that it could look for."""

    checks: frozenset[str]
    shares: Mapping[str, Share]
    answers: Mapping[str, Answer]

    def results(self) -> dict[str, FileResult]:
        """What was found, by path, without what it rests on."""
        return {path: self._result(path, share) for path, share in self.shares.items()}

    def _result(self, path: str, share: Share) -> FileResult:
        answer = self.answers.get(path)
        return FileResult(
            kernels=len(share.kernels),
            launches=len(share.starts),
            launches_resolved=sum(1 for kernels in share.starts if kernels),
            homes=share.homes,
            unreadable=share.unreadable,
            reading=None if answer is None else Reading(answer.found, answer.unreadable, answer.rests.files),
        )


class Memory(NamedTuple):
    """The files as they were, what their bytes tell, what the scan came to, and `uses` of kernels by `key_of`."""

    seen: Seen
    known: Known
    outcome: Outcome
    uses: Mapping[str, KernelUses]

    def changes(self, library: Library, tests: Container[str] = ()) -> Changes:
        """What is not in `library` as it was; what is known of the rest, it takes over. `tests` only test."""
        now, before = library.seen().digests, self.seen.digests
        gone, came = before.keys() - now.keys(), now.keys() - before.keys()
        paths = frozenset({path for path, digest in now.items() if before.get(path) != digest} | gone)
        library.known = self.known.but(paths) if paths else self.known
        python = (path for path in paths if path in library.python or path in self.known.roles)
        files = {path: self._changed(path, library) for path in python}
        return Changes(
            paths, frozenset(gone), frozenset(map(last_name, came)), files, tests, library.ask, library.importing
        )

    def _changed(self, path: str, library: Library) -> ChangedFile:
        before = self.known.words.get(path) if _imports(self.known.roles.get(path)) else None
        text = library.python.get(path, b"")
        words = library.words(path) if text and _imports(library.role(path)) else frozenset[str]()
        return ChangedFile(words, before or frozenset(), taken_names(text))


def _imports(role: Role | None) -> bool:
    """Whether somebody looks for callers there."""
    return role is not None and role is not Role.BYSTANDER


class Kept(NamedTuple):
    """What a run needs of the scan before where no file has changed; `checks` are as in Outcome, `results` by path.

    `recall` returns the rest, and NO_MEMORY if that is damaged.
    """

    seen: Seen
    directives: Mapping[str, tuple[Directive, ...]]
    checks: frozenset[str]
    results: Mapping[str, FileResult]
    uses: Mapping[str, KernelUses]
    recall: Callable[[], Memory]


NO_MEMORY = Memory(NOTHING_SEEN, Known({}, {}, {}, {}, {}), Outcome(frozenset(), {}, {}), {})
NOTHING_KEPT = Kept(NOTHING_SEEN, {}, frozenset(), {}, {}, lambda: NO_MEMORY)
