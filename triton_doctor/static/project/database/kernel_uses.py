"""Kernels to what else of the scanned files may use them, beside what the resolution of imports shows.

A launch by an imported name is resolved. What is left is told from the text of each file, which is searched once: names
that are looked up while the program runs, and files without launches that keep a kernel or hand it on.
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
# What takes a member by a name which is text, what runs text, and what imports a module by a name which is text. Most
# files have none of them, and a search for a word takes a fraction of one for a pattern.
_BY_NAME = (b"globals()", b"locals()", b"vars(", b"getattr(", b"attrgetter(", b"__dict__", b"sys.modules")
_RUN = (b"exec(", b"eval(")
_RUN_HERE = re.compile(rb"(?<![.\w])(?:exec|eval)\(")
_IMPORTED_BY_NAME = (b"import_module(", b"__import__(", b"run_path(", b"run_module(", b"spec_from_file_location(")
_NAME = WORD.pattern
# What follows `as`, and what stands before it: to begin with the rare word takes a tenth of beginning with any name.
_NEW_NAME = re.compile(rb"as(?<=[ \t]as)[ \t]+(%s)" % _NAME)
_OLD_NAME = re.compile(rb"(?<![\w\x80-\xff])(%s)[ \t]+$" % _NAME)
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t][^\n]*?import|import)\b(?:[ \t]*\([^)]*\)|[^\n]*)", re.MULTILINE)
_QUOTED = re.compile(rb"\"([^\"\n]*)\"|'([^'\n]*)'")


class KernelUses(NamedTuple):
    """How a kernel can be had: by one of `names` from a module called one of `homes`.

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
        """Whether it may use a kernel called one of `names` that can be had from one of `homes`."""
        by_import = not names.isdisjoint(self.words) and not homes.isdisjoint(self.homes)
        return by_import or not names.isdisjoint(self.by_name)


def key_of(path: str, kernel: str) -> str:
    """What the uses of the `kernel` of the file at `path` are kept by."""
    return f"{path}:{kernel}"


def find_uses(library: Database, findings: Iterable[Finding]) -> dict[str, KernelUses]:
    """The uses of the kernels that fixes of `findings` need to know all uses of, by `key_of`."""
    search = _UseSearch(library)
    found: dict[str, KernelUses] = {}
    for finding in findings:
        path, kernel = finding.fix.rests_on if finding.fix is not None else None, finding.facts.kernel
        if path is not None and kernel is not None and key_of(path, kernel) not in found:
            found[key_of(path, kernel)] = search.uses(path, kernel)
    return found


class _UseSearch:
    def __init__(self, library: Database) -> None:
        self._library = library
        self._beside_imports: dict[str, frozenset[bytes]] = {}
        self._renamed: dict[str, list[tuple[bytes, bytes]]] = {}

    def uses(self, path: str, kernel: str) -> KernelUses:
        naming = self._library.import_index.naming(kernel, path, None)
        others = [one for word in sorted({kernel, *naming.words}) for one in self._bystanders.get(word, ())]
        names = frozenset({kernel.encode(), *self._aliases(kernel.encode(), (*naming.paths, *others))})
        words = {*(naming.words - {kernel}), *(last_name(one) for one in (path, *naming.paths, *others))}
        homes = frozenset(map(os.fsencode, words))
        kept = any(not names.isdisjoint(self._words_beside_imports(one)) for one in others)
        return KernelUses(names, homes, kept or any(text.may_use(names, homes) for text in self._dynamic))

    def _aliases(self, kernel: bytes, paths: Iterable[str]) -> Iterator[bytes]:
        for path in paths:
            if path not in self._renamed:
                self._renamed[path] = list(_renamed(self._library.python[path]))
            yield from (alias for name, alias in self._renamed[path] if name == kernel)

    @cached_property
    def _bystanders(self) -> dict[str, list[str]]:
        """The files that no launch can stand in, and that may hand a kernel on, by the words that they import."""
        found: dict[str, list[str]] = {}
        for path, role in self._library.roles.items():
            if role is Role.BYSTANDER:
                for word in self._library.words(path):
                    found.setdefault(word, []).append(path)
        return found

    def _words_beside_imports(self, path: str) -> frozenset[bytes]:
        if path not in self._beside_imports:
            text = _IMPORT.sub(b"", self._library.python[path])
            self._beside_imports[path] = frozenset(WORD.findall(text))
        return self._beside_imports[path]

    @cached_property
    def _dynamic(self) -> tuple[MentionedWords, ...]:
        """What the scanned files name at run time."""
        known = self._library.known.mentions
        for path, role in self._library.roles.items():
            if path not in known:
                known[path] = _mentions(self._library.python[path]) if role is not Role.BYSTANDER else None
        return tuple(said for path in self._library.roles if (said := known[path]) is not None)


def _mentions(data: bytes) -> MentionedWords | None:
    """What the file with the text `data` names at run time; None for nothing."""
    by_name = frozenset(_named_at_run_time(data))
    if _says_any(_IMPORTED_BY_NAME, data):
        # The module stands in quotes; every word of the file may be its member.
        homes = frozenset(word for text in _quoted(data) for word in WORD.findall(text))
        return MentionedWords(frozenset(WORD.findall(data)), homes, by_name)
    return MentionedWords(frozenset(), frozenset(), by_name) if by_name else None


def _renamed(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each name with the one that follows it after `as`."""
    for found in _NEW_NAME.finditer(data):
        line = data[data.rfind(b"\n", 0, found.start()) + 1 : found.start()]
        if before := _OLD_NAME.search(line):
            yield before[1], found[1]


def _named_at_run_time(data: bytes) -> Iterator[bytes]:
    """The words in quotes on lines that take members by name, and all of them where text is run."""
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
