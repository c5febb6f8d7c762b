"""What one scan leaves for the next: of each file by content, and of each answer what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.importers import last_name
from triton_doctor.static.modules import Changes
from triton_doctor.static.prefilter import Role, imported_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.static.answers import Answer
    from triton_doctor.static.library import Library
    from triton_doctor.static.shares import Share, Shares


class Memory(NamedTuple):
    """All by path: `digests` of every file that was read, `roles` and imported `words` of Python files, and the rest.

    `words` are there for the files that were asked for them.
    """

    digests: Mapping[str, bytes]
    roles: Mapping[str, Role]
    words: Mapping[str, frozenset[str]]
    variables: frozenset[str]
    shares: Mapping[str, Share]
    answers: Mapping[str, Answer]

    def changes(self, library: Library) -> Changes:
        """What is not in `library` as it was."""
        now = library.digests
        same = {path for path, digest in self.digests.items() if now.get(path) == digest}
        came = now.keys() - self.digests.keys()
        words = frozenset[str]().union(
            *(self._new_words(path, data) for path, data in library.python.items() if path not in same)
        )
        return Changes(
            paths=frozenset(now.keys() | self.digests.keys()) - same, names=frozenset(map(last_name, came)), words=words
        )

    def tell(self, library: Library) -> None:
        """Let `library` take over what is known of the files that are as they were."""
        for path, role in self.roles.items():
            if library.digests.get(path) == self.digests[path]:
                library.recall(path, role, self.words.get(path))

    def _new_words(self, path: str, data: bytes) -> frozenset[str]:
        known = self.roles.get(path, Role.BYSTANDER) is not Role.BYSTANDER
        return imported_words(data) - (self.words.get(path, frozenset()) if known else frozenset())


def remember(library: Library, shares: Shares, answers: Mapping[str, Answer]) -> Memory:
    """What a scan that came to `shares` and `answers` leaves."""
    return Memory(library.digests, library.roles, library.known_words, shares.variables, shares.by_path, answers)


NO_MEMORY = Memory({}, {}, {}, frozenset(), {}, {})
