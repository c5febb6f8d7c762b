"""Kernels to whether something out of sight may use them: text that the scan did not read, and names made at run time.

A launch in sight has been resolved by its imports. What is left is searched as text, each file once: Python and
notebooks of the repository that are ignored, excluded or do not parse, and files that look names up while they run.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.regular_files import read_regular_file
from triton_doctor.static.files import EXCLUDED
from triton_doctor.static.importers import last_name
from triton_doctor.static.prefilter import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.finding import Finding
    from triton_doctor.static.library import Library

# Beyond these, what the scan did not read is not looked through, and counts as using every kernel.
MOST_FILES = 2_000
MOST_BYTES = 64 << 20
_MOST_ENTRIES = 200_000
MORE_THAN_SEARCHED = (
    f"more than {MOST_FILES:,} files that were not checked, or {MOST_BYTES >> 20} MB of them, may use the kernels: "
    "no fix that rests on seeing all launches is safe"
)
_SOURCES = (".py", ".ipynb")
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
# A line that takes a member by a name which is text, and text that is run.
_BY_NAME = re.compile(rb"globals\(\)|locals\(\)|vars\(|getattr\(|attrgetter\(|__dict__|sys\.modules")
_RUN = re.compile(rb"(?<![.\w])(?:exec|eval)\(")
_IMPORTED_BY_NAME = re.compile(rb"import_module\(|__import__\(|run_path\(|run_module\(|spec_from_file_location\(")
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t][^\n]*?import|import)\b(?:[ \t]*\([^)]*\)|[^\n]*)", re.MULTILINE)
_QUOTED = re.compile(rb"\"([^\"\n]*)\"|'([^'\n]*)'")


class _Text(NamedTuple):
    """What one file may use: a kernel among `words` of a module among `homes`, or a kernel that it names `by_name`."""

    words: frozenset[bytes]
    homes: frozenset[bytes]
    by_name: frozenset[bytes] = frozenset()

    def may_use(self, names: set[bytes], homes: set[bytes]) -> bool:
        """Whether it may use a kernel called one of `names` that can be had from one of `homes`."""
        return not names.isdisjoint(self.by_name) or not (names.isdisjoint(self.words) or homes.isdisjoint(self.homes))


class Sight:
    """What may use the kernels of a scan beside the launches in sight. A fix that rests on seeing all is judged by it.

    `is_cut` says, once something was judged, whether there was more text than is looked through.
    """

    def __init__(self, library: Library, unreadable: Iterable[str], base: Path) -> None:
        """`unreadable` are the files of `library` that did not parse; paths are relative to `base`."""
        self._library = library
        self._unreadable = frozenset(unreadable)
        self._base = base
        self._beside_imports: dict[str, frozenset[bytes]] = {}
        self.is_cut = False

    def judge(self, finding: Finding) -> Finding:
        """The finding, its fix less safe or gone where it rests on seeing a use that may be out of sight."""
        fix, kernel = finding.fix, finding.facts.kernel
        if fix is None or fix.rests_on is None or kernel is None or not self.is_partial(fix.rests_on, kernel):
            return finding
        return replace(finding, fix=replace(fix, safety=fix.unseen) if fix.unseen is not None else None)

    def is_partial(self, path: str, kernel: str) -> bool:
        """Whether something out of sight may use what the file at `path` defines as `kernel`."""
        naming = self._library.naming(kernel, path, None)
        others = [one for word in sorted({kernel, *naming.words}) for one in self._bystanders.get(word, ())]
        names = {kernel.encode(), *self._aliases(kernel, (*naming.paths, *others))}
        homes = {word.encode() for word in naming.words - {kernel}}
        homes.update(last_name(one).encode() for one in (path, *naming.paths, *others))
        texts = (*self._hidden, *self._dynamic)
        return (
            self.is_cut
            or any(text.may_use(names, homes) for text in texts)
            or any(not names.isdisjoint(self._words_beside_imports(one)) for one in others)
        )

    def _aliases(self, kernel: str, paths: Iterable[str]) -> Iterator[bytes]:
        renamed = re.compile(rb"\b%s[ \t]+as[ \t]+(\w+)" % re.escape(kernel.encode()))
        for path in paths:
            yield from renamed.findall(self._library.python[path])

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
            self._beside_imports[path] = frozenset(_WORD.findall(text))
        return self._beside_imports[path]

    @cached_property
    def _hidden(self) -> tuple[_Text, ...]:
        """The files that were not read as programs."""
        texts = [_anything_in(self._library.python.get(path, b"")) for path in self._unreadable]
        scanned = {os.path.realpath(self._base / path) for path in self._library.python}
        count, size = 0, 0
        for path in self._sources():
            if os.path.realpath(path) in scanned:
                continue
            count += 1
            try:
                data = read_regular_file(path)
            except OSError:
                continue
            size += len(data)
            if count > MOST_FILES or size > MOST_BYTES:
                self.is_cut = True
                break
            texts.append(_anything_in(data))
        return tuple(texts)

    @cached_property
    def _dynamic(self) -> tuple[_Text, ...]:
        """What the scanned files name at run time."""
        texts = []
        for path, role in self._library.roles.items():
            data = self._library.python[path] if role is not Role.BYSTANDER else b""
            by_name = frozenset(_named_at_run_time(data))
            if _IMPORTED_BY_NAME.search(data):
                # The module stands in quotes; every word of the file may be its member.
                homes = frozenset(word for text in _quoted(data) for word in _WORD.findall(text))
                texts.append(_Text(frozenset(_WORD.findall(data)), homes, by_name))
            elif by_name:
                texts.append(_Text(frozenset(), frozenset(), by_name))
        return tuple(texts)

    def _sources(self) -> Iterator[str]:
        """The Python files and notebooks around: of the git repository, else of `base` and of the folder above."""
        top = next((one for one in (self._base, *self._base.parents) if (one / ".git").exists()), None)
        if top is None or (top == Path.home() and top != self._base):
            top = self._base
            yield from (one.path for one in _entries(self._base.parent.as_posix()) if one.name.endswith(_SOURCES))
        pending, left = [top.as_posix()], _MOST_ENTRIES
        while pending:
            for entry in _entries(pending.pop()):
                left -= 1
                if left < 0:
                    self.is_cut = True
                    return
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in EXCLUDED:
                        pending.append(entry.path)
                elif entry.name.endswith(_SOURCES):
                    yield entry.path


def _anything_in(data: bytes) -> _Text:
    words = frozenset(_WORD.findall(data))
    return _Text(words, words)


def _named_at_run_time(data: bytes) -> Iterator[bytes]:
    """The words in quotes on lines that take members by name, and all of them where text is run."""
    if _RUN.search(data):
        for text in _quoted(data):
            yield from _WORD.findall(text)
    elif _BY_NAME.search(data):
        for line in data.splitlines():
            if _BY_NAME.search(line):
                yield from _quoted(line)


def _quoted(data: bytes) -> Iterator[bytes]:
    return (double or single for double, single in _QUOTED.findall(data))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
