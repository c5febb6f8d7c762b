"""Uses of kernels that the resolution of imports cannot show.

A launch by an imported name is resolved elsewhere. What is left is found by one text search of each file: names looked
up at run time, and files without launches that store a kernel or pass it on.
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.project.database.import_index import last_name
from triton_doctor.static.project.database.roles import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.database.database import Database

WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
# Lookups by a name given as a string, execution of text, and imports by string. Most files have none, and searching for
# a fixed word takes a fraction of the time of a pattern.
_BY_NAME = (b"globals()", b"locals()", b"vars(", b"getattr(", b"attrgetter(", b"__dict__", b"sys.modules")
_RUN = (b"exec(", b"eval(")
_RUN_HERE = re.compile(rb"(?<![.\w])(?:exec|eval)\(")
_IMPORTED_BY_NAME = (b"import_module(", b"__import__(", b"run_path(", b"run_module(", b"spec_from_file_location(")
_NAME = WORD.pattern
# The names after and before `as`. Starting with the rare word takes a tenth of the time of starting with any name.
_NEW_NAME = re.compile(rb"as(?<=[ \t]as)[ \t]+(%s)" % _NAME)
_OLD_NAME = re.compile(rb"(?<![\w\x80-\xff])(%s)[ \t]+$" % _NAME)
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t][^\n]*?import|import)\b(?:[ \t]*\([^)]*\)|[^\n]*)", re.MULTILINE)
_QUOTED = re.compile(rb"\"([^\"\n]*)\"|'([^'\n]*)'")


class KernelUses(NamedTuple):
    """How a kernel can be reached: by one of `names` from a module called one of `homes`.

    `is_partial` says whether a scanned file may use it in a way that was not resolved.
    """

    names: frozenset[bytes]
    homes: frozenset[bytes]
    is_partial: bool


class MentionedWords(NamedTuple):
    """What one file may use: a kernel among `words` of a module among `homes`, or a kernel that it names `by_name`."""

    words: frozenset[bytes]
    homes: frozenset[bytes]
    by_name: frozenset[bytes] = frozenset()

    def may_use(self, names: frozenset[bytes], homes: frozenset[bytes]) -> bool:
        """Return whether it may use a kernel called one of `names`, reachable from one of `homes`."""
        by_import = not names.isdisjoint(self.words) and not homes.isdisjoint(self.homes)
        return by_import or not names.isdisjoint(self.by_name)


def key_of(path: str, kernel: str) -> str:
    """Return the key of the uses of `kernel`, defined in the file at `path`."""
    return f"{path}:{kernel}"


def find_uses(database: Database, findings: Iterable[Finding]) -> dict[str, KernelUses]:
    """Return the uses, by `key_of`, of the kernels for which fixes of `findings` need to know all uses."""
    search = _UseSearch(database)
    found: dict[str, KernelUses] = {}
    for finding in findings:
        path, kernel = finding.fix.rests_on if finding.fix is not None else None, finding.facts.kernel
        if path is not None and kernel is not None and key_of(path, kernel) not in found:
            found[key_of(path, kernel)] = search.uses(path, kernel)
    return found


class _UseSearch:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._beside_imports: dict[str, frozenset[bytes]] = {}
        self._renamed: dict[str, list[tuple[bytes, bytes]]] = {}

    def uses(self, path: str, kernel: str) -> KernelUses:
        naming = self._database.import_index.files_naming(kernel, path, None)
        others = [one for word in sorted({kernel, *naming.words}) for one in self._bystanders.get(word, ())]
        names = frozenset({kernel.encode(), *self._aliases(kernel.encode(), (*naming.paths, *others))})
        words = {*(naming.words - {kernel}), *(last_name(one) for one in (path, *naming.paths, *others))}
        homes = frozenset(map(os.fsencode, words))
        kept = any(not names.isdisjoint(self._words_beside_imports(one)) for one in others)
        return KernelUses(names, homes, kept or any(text.may_use(names, homes) for text in self._dynamic))

    def _aliases(self, kernel: bytes, paths: Iterable[str]) -> Iterator[bytes]:
        for path in paths:
            if path not in self._renamed:
                self._renamed[path] = list(_renamed(self._database.python[path]))
            yield from (alias for name, alias in self._renamed[path] if name == kernel)

    @cached_property
    def _bystanders(self) -> dict[str, list[str]]:
        """The files without launches that may pass a kernel on, by the names that they import."""
        found: dict[str, list[str]] = {}
        for path, role in self._database.roles.items():
            if role is Role.BYSTANDER:
                for word in self._database.imported_words(path):
                    found.setdefault(word, []).append(path)
        return found

    def _words_beside_imports(self, path: str) -> frozenset[bytes]:
        if path not in self._beside_imports:
            text = _IMPORT.sub(b"", self._database.python[path])
            self._beside_imports[path] = frozenset(WORD.findall(text))
        return self._beside_imports[path]

    @cached_property
    def _dynamic(self) -> tuple[MentionedWords, ...]:
        """What the scanned files name at run time."""
        known = self._database.known.mentions
        for path, role in self._database.roles.items():
            if path not in known:
                known[path] = _mentions(self._database.python[path]) if role is not Role.BYSTANDER else None
        return tuple(said for path in self._database.roles if (said := known[path]) is not None)


def _mentions(data: bytes) -> MentionedWords | None:
    """Return what the file with the text `data` names at run time; None for nothing."""
    by_name = frozenset(_named_at_run_time(data))
    if _says_any(_IMPORTED_BY_NAME, data):
        # The module is a string; every word of the file may be a member of it.
        homes = frozenset(word for text in _quoted(data) for word in WORD.findall(text))
        return MentionedWords(frozenset(WORD.findall(data)), homes, by_name)
    return MentionedWords(frozenset(), frozenset(), by_name) if by_name else None


def _renamed(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield each name that is followed by `as`, with its new name."""
    for found in _NEW_NAME.finditer(data):
        line = data[data.rfind(b"\n", 0, found.start()) + 1 : found.start()]
        if before := _OLD_NAME.search(line):
            yield before[1], found[1]


def _named_at_run_time(data: bytes) -> Iterator[bytes]:
    """Yield the quoted words on lines with run-time lookups; of a file that executes text, all quoted words."""
    if _says_any(_RUN, data) and _RUN_HERE.search(data):
        for text in _quoted(data):
            yield from WORD.findall(text)
        return
    for sign in _BY_NAME:
        at = data.find(sign)
        while at >= 0:
            end = data.find(b"\n", at)
            end = end if end >= 0 else len(data)
            yield from _quoted(data[data.rfind(b"\n", 0, at) + 1 : end])
            at = data.find(sign, end)


def _says_any(signs: Iterable[bytes], data: bytes) -> bool:
    return any(sign in data for sign in signs)


def _quoted(data: bytes) -> Iterator[bytes]:
    return (double or single for double, single in _QUOTED.findall(data))
