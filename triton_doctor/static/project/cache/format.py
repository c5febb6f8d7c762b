"""Scan cache to bytes and back: the only module that knows the layout of a cache file.

It is msgpack. The head has what a run needs if no file changed: digests, statuses, directives and findings. `details`
is the rest, encoded separately and decoded only if some file changed. Decoding checks the type of every value and runs
no code chosen by the bytes.

A record becomes a row, the list of its fields: `Location("a.py", 3)` is `["a.py", 3]`. The row of a change begins with
the name of its class: `["DropParameter", "a.py", [1, 2, 1, 5]]`.
"""

from __future__ import annotations

from functools import partial
from types import UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from triton_doctor.finding import Evidence, Facts, Finding, HintNote, Location, Span, Step, Undecided
from triton_doctor.plan import Change, Plan
from triton_doctor.static.project.cache.results import FileFindings, FileReport
from triton_doctor.static.project.cache.scan_cache import (
    NO_CACHED_SCAN,
    NO_SCAN_CACHE,
    CachedScan,
    FileResult,
    FileSummary,
    ScanCache,
    ScanResult,
)
from triton_doctor.static.project.database.dependencies import Dependencies
from triton_doctor.static.project.database.roles import FileFacts, Role
from triton_doctor.static.project.names.name_occurrences import KernelNames
from triton_doctor.static.sources.contents import FileStamps, Status
from triton_doctor.static.sources.directives import Directive

Record = TypeVar("Record")


class _Head(NamedTuple):
    """What every run needs, by path. `directives` only has files with directives."""

    digests: dict[str, bytes]
    statuses: dict[str, Status]
    directives: dict[str, tuple[Directive, ...]]
    checks: frozenset[str]
    results: dict[str, FileReport]
    names: dict[str, KernelNames]
    details: bytes


class _Details(NamedTuple):
    """What a run needs if some file changed, by path. The findings are in the head."""

    roles: dict[str, Role]
    words: dict[str, frozenset[str]]
    members: dict[str, frozenset[str]]
    setting: dict[str, bool]
    summaries: dict[str, FileSummary]
    file_results: dict[str, FileResult]
    texts: dict[str, bytes]


class _Layout(NamedTuple):
    """How a class of records is stored: the type of its rows, and its fields.

    `nested` are fields that may hold rows.
    """

    row: type[msgspec.Struct]
    names: tuple[str, ...]
    nested: tuple[str, ...]


# Annotations also use names that their module imports for type checkers only.
_NAMES = {"Span": Span, "Plan": Plan, "Finding": Finding, "Undecided": Undecided, "Dependencies": Dependencies}
_LAYOUTS: dict[type, _Layout] = {}
_RECORD_OF: dict[type, type] = {}


def _lay_out(of: type) -> _Layout:
    """Return the layout of `of`. Layouts of the records it may hold must be in _LAYOUTS already."""
    hints = get_type_hints(of, localns=_NAMES)
    types = {name: _stored_as(hint) for name, hint in hints.items()}
    row = msgspec.defstruct(of.__name__, list(types.items()), array_like=True, frozen=True, tag=of in get_args(Change))
    return _Layout(row, tuple(types), tuple(name for name, stored in types.items() if stored != hints[name]))


def _stored_as(hint: Any) -> Any:
    """Return the type that stores a value of the type `hint`: rows in place of records."""
    if hint in _LAYOUTS:
        return _LAYOUTS[hint].row
    inner = tuple(map(_stored_as, get_args(hint)))
    match get_origin(hint):
        case None:
            return hint
        case origin if origin in (Union, UnionType):
            return Union[inner]  # noqa: UP007, it is made of a tuple
        case origin:
            return origin[inner]


def _pack(value: Any) -> Any:
    """Return `value` with rows in place of records."""
    of = type(value)
    if of is tuple:
        return tuple(map(_pack, value))
    if of is dict:
        return {key: _pack(inner) for key, inner in value.items()}
    if of not in _LAYOUTS:
        return value
    row, names, nested = _LAYOUTS[of]
    return row(*(_pack(getattr(value, name)) if name in nested else getattr(value, name) for name in names))


def _unpack(value: Any) -> Any:
    """Return `value` with records in place of rows."""
    of = type(value)
    if of is tuple:
        return tuple(map(_unpack, value))
    if of is dict:
        return {key: _unpack(inner) for key, inner in value.items()}
    record = _RECORD_OF.get(of)
    if record is None:
        return value
    _, names, nested = _LAYOUTS[record]
    fields = dict(zip(names, msgspec.structs.astuple(value), strict=True))
    for name in nested:
        fields[name] = _unpack(fields[name])
    return record(**fields)


_OF_FINDINGS = (Location, Step, HintNote, Facts, Evidence, *get_args(Change), Plan, Finding)
_HELD = (*_OF_FINDINGS, Undecided, Directive, FileSummary, FileResult)
for _of in (*_HELD, KernelNames, FileFindings, FileReport, _Head, _Details):  # each after the records that it holds
    _LAYOUTS[_of] = _lay_out(_of)
_RECORD_OF.update((layout.row, of) for of, layout in _LAYOUTS.items())


def encode(scan_cache: ScanCache) -> bytes:
    """Return the content of a cache file.

    Raises ValueError for a path that is not UTF-8, and OverflowError for a number of more than 64 bits.
    """
    seen, known, scan_result, names, texts = scan_cache
    details = _Details(
        roles=known.roles,
        words=known.words,
        members=known.members,
        setting=known.setting,
        summaries={path: share._replace(unreadable=()) for path, share in scan_result.summaries.items()},
        file_results={
            path: answer._replace(found=(), undecided=(), unreadable=())
            for path, answer in scan_result.file_results.items()
        },
        texts=dict(texts),
    )
    head = _Head(
        digests=dict(seen.digests),
        statuses=dict(seen.statuses),
        directives={path: directives for path, directives in known.directives.items() if directives},
        checks=scan_result.checks,
        results=scan_result.results(),
        names=dict(names),
        details=msgspec.msgpack.encode(_pack(details)),
    )
    return msgspec.msgpack.encode(_pack(head))


def decode(content: bytes) -> CachedScan:
    """Return the cached scan in `content`; NO_CACHED_SCAN if it does not have the form that `encode` produces."""
    head = _decode(content, _Head)
    if head is None or not head.statuses.keys() <= head.digests.keys():
        return NO_CACHED_SCAN
    # The directives of every file are known.
    directives = dict.fromkeys(head.digests, ()) | head.directives
    seen = FileStamps(head.digests, head.statuses)
    return CachedScan(seen, directives, head.checks, head.results, head.names, partial(_decode_rest, head, directives))


def _decode_rest(head: _Head, directives: dict[str, tuple[Directive, ...]]) -> ScanCache:
    details = _decode(head.details, _Details)
    if details is None or details.summaries.keys() != head.results.keys():
        return NO_SCAN_CACHE
    known = FileFacts(details.roles, details.words, details.members, details.setting, directives, {}, {})
    summaries, file_results = {}, {}
    for path, result in head.results.items():
        summaries[path] = details.summaries[path]._replace(unreadable=result.unreadable)
        if path in details.file_results and result.findings is not None:
            findings = result.findings
            file_results[path] = details.file_results[path]._replace(
                found=findings.found, undecided=findings.undecided, unreadable=findings.unreadable
            )
    scan_result = ScanResult(head.checks, summaries, file_results)
    return ScanCache(FileStamps(head.digests, head.statuses), known, scan_result, head.names, details.texts)


def _decode(content: bytes, of: type[Record]) -> Record | None:
    """Return the record of class `of` in `content`; None if there is none."""
    try:
        found: Record = _unpack(msgspec.msgpack.decode(content, type=_LAYOUTS[of].row))
    except (msgspec.DecodeError, RecursionError):
        return None
    return found
