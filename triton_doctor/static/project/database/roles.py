"""Bytes of files to what they tell: of a Python file its role, what it could hold that matters.

This is asked of every file, so it only searches.
"""

from __future__ import annotations

import os
import re
import sys
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.environment.read_python import may_set_by_name, may_set_knobs, python_may_set
from triton_doctor.static.python.clocks import may_measure_time
from triton_doctor.static.python.function_body import LAUNCH, may_launch
from triton_doctor.static.python.kernels import may_define_kernels
from triton_doctor.static.sources.directives import MARK

if TYPE_CHECKING:
    from triton_doctor.static.project.database.kernel_uses import MentionedWords
    from triton_doctor.static.sources.directives import Directive

Read = TypeVar("Read")

_BATCH_SIZE = re.compile(rb"per_device_(?:train|eval)_batch_size\s*=[^=]")
# What follows `import`: `from a import (b, c as d)` says b and c; `import a.b` says a and b.
_IMPORTED = re.compile(rb"import([ \t]*\([^)]*\)|.*(?:(?<=\\)\n.*)*)")
_ALIAS = re.compile(rb"\bas[\s\\]+\w+")
_FROM_ALL = re.compile(rb"(\w+)[ \t]+import[ \t]*\*")
_ALL = re.compile(rb"import[ \t]*\*")
_IMPORT = re.compile(rb"import\b")
# What stands between the name of a module and `import`, and what such a name is of.
_BETWEEN = frozenset(b" \t\\")
_IN_NAME = frozenset(range(0x80, 0x100)) | frozenset(
    byte for byte in range(0x80) if chr(byte).isalnum() or byte == 0x5F
)
_WORD = re.compile(r"[A-Za-z_]\w*")
# Of names in a text that is not decoded, no letter is left out.
_NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_EVERY_NAME = re.compile(_NAME)
_MEMBER = re.compile(rb"\.[\s\\]*(" + _NAME + rb")")
_SUBSCRIPTED_NAME = re.compile(rb"([A-Za-z_]\w*)[ \t]*\[")
_SUBSCRIPTED_MEMBER = re.compile(rb"\.([A-Za-z_]\w*)[ \t]*\[")


class Role(Enum):
    """What a file is read for.

    A `SUBJECT` may hold anything that a check speaks of, a `SETTER` variables of the environment. A `LAUNCHER`, and a
    `SETTER` too, may hold a launch if it can name a kernel. A `CALLER` names Triton, and so may call what launches. It
    is read, as a `BYSTANDER` is, when something leads there. Callers are looked for among bystanders only where hints
    alone would make a finding.
    """

    SUBJECT = "subject"
    SETTER = "setter"
    LAUNCHER = "launcher"
    CALLER = "caller"
    BYSTANDER = "bystander"


class FileFacts(NamedTuple):
    """What the bytes of files tell, by path: roles, words after `import` and members of Python files, and the rest.

    `members` are what is subscripted as a member of something; `setting` says of a settings file whether it may set
    something. `mentions` are what Python files name at run time, None for nothing; `sources` are the modules from which
    they import. These two are not kept on disk. Nobody has asked about the files that are not there.
    """

    roles: dict[str, Role]
    words: dict[str, frozenset[str]]
    members: dict[str, frozenset[str]]
    setting: dict[str, bool]
    directives: dict[str, tuple[Directive, ...]]
    mentions: dict[str, MentionedWords | None]
    sources: dict[str, frozenset[str]]

    def but(self, paths: frozenset[str]) -> FileFacts:
        """What is known of other files than those at `paths`."""
        return FileFacts._make(_but(known, paths) for known in self)


def _but(known: dict[str, Read], paths: frozenset[str]) -> dict[str, Read]:
    return {path: one for path, one in known.items() if path not in paths}


def role_of(data: bytes) -> Role:
    """The role of the file that holds `data`.

    A launch needs no word of Triton in its file, `from .kernels import add` and `add[grid](x)` do; but it is always a
    subscript that is called.
    """
    if b"\0" in data:
        data = data.replace(b"\0", b"")  # UTF-16, which Python does not read: what stands there is worth a TRD900
    names_triton = b"triton" in data
    if may_define_kernels(data) or (names_triton and _works_with_triton(data)):
        return Role.SUBJECT
    if b"per_device_" in data and _BATCH_SIZE.search(data):
        return Role.SUBJECT
    if (names_triton and may_set_knobs(data)) or may_set_by_name(data):
        return Role.SETTER
    if LAUNCH in data:
        return Role.LAUNCHER
    return Role.CALLER if names_triton else Role.BYSTANDER


def _works_with_triton(data: bytes) -> bool:
    """Whether a file that names Triton may launch, time or train with kernels, or has a word for us."""
    return may_launch(data) or MARK in data or b".backward(" in data or may_measure_time(data)


def imported_words(data: bytes) -> frozenset[str]:
    """The names that stand after an `import`: modules, what is taken from them; a module of which all is taken.

    What they are called from there on is none of them.
    """
    found = _IMPORTED.findall(data)
    if any(b"*" in imported for imported in found):
        found += _FROM_ALL.findall(data)
    imported = _ALIAS.sub(b"", b" ".join(found))
    return frozenset(map(sys.intern, _WORD.findall(imported.decode("ascii", "replace"))))


def imported_sources(data: bytes) -> frozenset[str]:
    """The last names of the modules that something is imported from: `b` of `from a.b import c`."""
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


def facts_of(data: bytes) -> tuple[object, ...]:
    """All that is told from the bytes of a Python file, but for the words of comments."""
    imported = imported_words(data), imported_sources(data), takes_all(data)
    return role_of(data), *imported, taken_names(data), subscripted_members(data), python_may_set(data)


def taken_names(data: bytes) -> frozenset[bytes]:
    """Every name that may be taken from a module that is imported: `something.name`; all, where it imports all."""
    return frozenset((_EVERY_NAME if _ALL.search(data) else _MEMBER).findall(data))


def subscripted_members(data: bytes) -> frozenset[str]:
    """Every `name` of `something.name[`; of `name[` too, where all names of a module are taken."""
    pattern = _SUBSCRIPTED_NAME if takes_all(data) else _SUBSCRIPTED_MEMBER
    return frozenset(name.decode("ascii", "replace") for name in pattern.findall(data))


@cached_in_scan()
def takes_all(data: bytes) -> bool:
    """Whether it takes all names of some module: `from kernels import *`."""
    return b"*" in data and _ALL.search(data) is not None
