"""The role of each Python file, and other facts that a text search finds.

This runs on every file, so it never parses.
"""

from __future__ import annotations

import os
import re
import sys
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.environment.read_python import may_set_by_name, may_set_knobs
from triton_doctor.static.python.clocks import may_measure_time
from triton_doctor.static.python.function import calls_subscript, may_launch
from triton_doctor.static.python.kernels import may_define_kernels
from triton_doctor.static.sources.directives import MARK

if TYPE_CHECKING:
    from triton_doctor.static.sources.directives import Directive

Read = TypeVar("Read")

_BATCH_SIZE = re.compile(rb"per_device_(?:train|eval)_batch_size\s*=[^=]")
# The names after `import`: `from a import (b, c as d)` yields b and c, `import a.b` yields a and b.
_IMPORTED = re.compile(rb"import([ \t]*\([^)]*\)|.*(?:(?<=\\)\n.*)*)")
_ALIAS = re.compile(rb"\bas[\s\\]+\w+")
_FROM_ALL = re.compile(rb"(\w+)[ \t]+import[ \t]*\*")
_ALL = re.compile(rb"import[ \t]*\*")
_IMPORT = re.compile(rb"import\b")
# The characters allowed between a module's name and `import`, and in such a name.
_BETWEEN = frozenset(b" \t\\")
_IN_NAME = frozenset(range(0x80, 0x100)) | frozenset(
    byte for byte in range(0x80) if chr(byte).isalnum() or byte == 0x5F
)
_WORD = re.compile(r"[A-Za-z_]\w*")
# A name in bytes: any non-ASCII byte may be part of it.
_NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_EVERY_NAME = re.compile(_NAME)
_MEMBER = re.compile(rb"\.[\s\\]*(" + _NAME + rb")")
_SUBSCRIPTED_NAME = re.compile(rb"([A-Za-z_]\w*)[ \t]*\[")
_SUBSCRIPTED_MEMBER = re.compile(rb"\.([A-Za-z_]\w*)[ \t]*\[")


class Role(Enum):
    """Why a file is read.

    A `SUBJECT` may hold anything that a check reports on; a `SETTER` may set environment variables. A `LAUNCHER` may
    hold a launch if it can name a kernel, and so may a `SETTER`. A `CALLER` names Triton, and so may call functions
    that launch; it is read when something refers to it. So is a `BYSTANDER`; callers in bystanders are only looked for
    if a finding would rest on hints alone.
    """

    SUBJECT = "subject"
    SETTER = "setter"
    LAUNCHER = "launcher"
    CALLER = "caller"
    BYSTANDER = "bystander"


class FileFacts(NamedTuple):
    """Facts found by text search, by path.

    `roles`, `words` (the names after `import`), `members` (names subscripted as `something.name[`) and `sources`
    (modules imported from) are about Python files, and so is `computed`, the words that literals are joined to.
    `setting` says whether a settings file may set something. `sources` and `computed` are not kept on disk. Files that
    are missing here were not searched yet.
    """

    roles: dict[str, Role]
    words: dict[str, frozenset[str]]
    members: dict[str, frozenset[str]]
    setting: dict[str, bool]
    directives: dict[str, tuple[Directive, ...]]
    sources: dict[str, frozenset[str]]
    computed: dict[str, frozenset[str]]

    def without(self, paths: frozenset[str]) -> FileFacts:
        """Return the facts of all files but those at `paths`."""
        return FileFacts._make(_without(known, paths) for known in self)


def _without(known: dict[str, Read], paths: frozenset[str]) -> dict[str, Read]:
    return {path: fact for path, fact in known.items() if path not in paths}


def role_of(data: bytes) -> Role:
    """Return the role of the file that holds `data`.

    A launch needs no word of Triton in its file: `from .kernels import add` and `add[grid](x)`. But it is always a
    called subscript.
    """
    if b"\0" in data:
        data = data.replace(b"\0", b"")  # UTF-16, which Python cannot read: report it as TRD900
    names_triton = b"triton" in data
    if may_define_kernels(data) or (names_triton and _works_with_triton(data)):
        return Role.SUBJECT
    if b"per_device_" in data and _BATCH_SIZE.search(data):
        return Role.SUBJECT
    if (names_triton and may_set_knobs(data)) or may_set_by_name(data):
        return Role.SETTER
    if calls_subscript(data.__contains__):
        return Role.LAUNCHER
    return Role.CALLER if names_triton else Role.BYSTANDER


def _works_with_triton(data: bytes) -> bool:
    """Return whether a file that names Triton may launch, time or train with kernels, or has a directive."""
    return may_launch(data.__contains__) or MARK in data or b".backward(" in data or may_measure_time(data)


def imported_words(data: bytes) -> frozenset[str]:
    """Return the names after `import`: modules, names taken from them, and modules with a star import.

    New names after `as` are not included.
    """
    found = _IMPORTED.findall(data)
    if any(b"*" in imported for imported in found):
        found += _FROM_ALL.findall(data)
    imported = _ALIAS.sub(b"", b" ".join(found))
    return frozenset(map(sys.intern, _WORD.findall(imported.decode("ascii", "replace"))))


def imported_sources(data: bytes) -> frozenset[str]:
    """Return the last names of the modules imported from: `b` for `from a.b import c`."""
    found = set[bytes]()
    for imported in _IMPORT.finditer(data):
        end = imported.start()
        while end and (data[end - 1] in _BETWEEN or data.endswith(b"\\\n", 0, end)):
            end -= 1
        start = end
        while start and data[start - 1] in _IN_NAME:
            start -= 1
        if start < end < imported.start():
            found.add(data[start:end])
    return frozenset(sys.intern(os.fsdecode(name)) for name in found)


def taken_names(data: bytes) -> frozenset[bytes]:
    """Return every name that may be taken from an imported module: `something.name`; all names, with a star import."""
    return frozenset((_EVERY_NAME if _ALL.search(data) else _MEMBER).findall(data))


def subscripted_members(data: bytes) -> frozenset[str]:
    """Return every `name` in `something.name[`; with a star import, in `name[` too."""
    pattern = _SUBSCRIPTED_NAME if takes_all(data) else _SUBSCRIPTED_MEMBER
    return frozenset(name.decode("ascii", "replace") for name in pattern.findall(data))


@cached_in_scan()
def takes_all(data: bytes) -> bool:
    """Return whether the file has a star import: `from kernels import *`."""
    return b"*" in data and _ALL.search(data) is not None
