"""Memory to bytes and back: the one module that knows how the content of a cache file is laid out.

It is msgpack. The head has what a run needs when no file changed: digests, statuses, directives and findings. `details`
is the rest, encoded apart, and decoded only when some file changed. Decoding checks the type of every value and runs no
code that the bytes choose.

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
from triton_doctor.static.project.database.kernel_uses import KernelUses
from triton_doctor.static.project.database.roles import FileFacts, Role
from triton_doctor.static.sources.contents import FileStamps, Status
from triton_doctor.static.sources.directives import Directive

Record = TypeVar("Record")


class _Head(NamedTuple):
    """What is needed in any case, by path. `directives` are of files that have some."""

    digests: dict[str, bytes]
    statuses: dict[str, Status]
    directives: dict[str, tuple[Directive, ...]]
    checks: frozenset[str]
    results: dict[str, FileReport]
    uses: dict[str, KernelUses]
    details: bytes


class _Details(NamedTuple):
    """What is needed where some file changed, by path. The findings of `shares` and `answers` are in the head."""

    roles: dict[str, Role]
    words: dict[str, frozenset[str]]
    members: dict[str, frozenset[str]]
    setting: dict[str, bool]
    shares: dict[str, FileSummary]
    answers: dict[str, FileResult]
    texts: dict[str, bytes]


class _Layout(NamedTuple):
    """How a class of records is stored: the type of its rows, and its fields; `nested` are those that may hold rows."""

    row: type[msgspec.Struct]
    names: tuple[str, ...]
    nested: tuple[str, ...]


# Annotations also name what their module imports for type checkers alone.
_NAMES = {"Span": Span, "Plan": Plan, "Finding": Finding, "Undecided": Undecided, "Dependencies": Dependencies}
_LAYOUTS: dict[type, _Layout] = {}
_RECORD_OF: dict[type, type] = {}


def _lay_out(of: type) -> _Layout:
    """The layout of `of`; those of the records that it may hold are in _LAYOUTS."""
    hints = get_type_hints(of, localns=_NAMES)
    types = {name: _stored_as(hint) for name, hint in hints.items()}
    row = msgspec.defstruct(of.__name__, list(types.items()), array_like=True, frozen=True, tag=of in get_args(Change))
    return _Layout(row, tuple(types), tuple(name for name, stored in types.items() if stored != hints[name]))


def _stored_as(hint: Any) -> Any:
    """The type that a value of the type `hint` is stored as: rows in place of records."""
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
    """`value` with rows in place of records."""
    of = type(value)
    if of is tuple:
        return tuple(map(_pack, value))
    if of is dict:
        return {key: _pack(one) for key, one in value.items()}
    if of not in _LAYOUTS:
        return value
    row, names, nested = _LAYOUTS[of]
    return row(*(_pack(getattr(value, name)) if name in nested else getattr(value, name) for name in names))


def _unpack(value: Any) -> Any:
    """`value` with records in place of rows."""
    of = type(value)
    if of is tuple:
        return tuple(map(_unpack, value))
    if of is dict:
        return {key: _unpack(one) for key, one in value.items()}
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
for _of in (*_HELD, KernelUses, FileFindings, FileReport, _Head, _Details):  # each after those that it holds
    _LAYOUTS[_of] = _lay_out(_of)
_RECORD_OF.update((layout.row, of) for of, layout in _LAYOUTS.items())


def encode(memory: ScanCache) -> bytes:
    """Return the content of a cache file.

    Raises ValueError for a path that is no UTF-8, and OverflowError for a number of more than 64 bits.
    """
    seen, known, outcome, uses, texts = memory
    details = _Details(
        roles=known.roles,
        words=known.words,
        members=known.members,
        setting=known.setting,
        shares={path: share._replace(unreadable=()) for path, share in outcome.shares.items()},
        answers={
            path: answer._replace(found=(), undecided=(), unreadable=()) for path, answer in outcome.answers.items()
        },
        texts=dict(texts),
    )
    head = _Head(
        digests=dict(seen.digests),
        statuses=dict(seen.statuses),
        directives={path: directives for path, directives in known.directives.items() if directives},
        checks=outcome.checks,
        results=outcome.results(),
        uses=dict(uses),
        details=msgspec.msgpack.encode(_pack(details)),
    )
    return msgspec.msgpack.encode(_pack(head))


def decode(content: bytes) -> CachedScan:
    """Return what `content` holds; NOTHING_KEPT where it does not have the form that `encode` gives it."""
    head = _decode(content, _Head)
    if head is None or not head.statuses.keys() <= head.digests.keys():
        return NO_CACHED_SCAN
    # Every file was asked for its directives.
    directives = dict.fromkeys(head.digests, ()) | head.directives
    seen = FileStamps(head.digests, head.statuses)
    return CachedScan(seen, directives, head.checks, head.results, head.uses, partial(_recall, head, directives))


def _recall(head: _Head, directives: dict[str, tuple[Directive, ...]]) -> ScanCache:
    details = _decode(head.details, _Details)
    if details is None or details.shares.keys() != head.results.keys():
        return NO_SCAN_CACHE
    known = FileFacts(details.roles, details.words, details.members, details.setting, directives, {}, {})
    shares, answers = {}, {}
    for path, result in head.results.items():
        shares[path] = details.shares[path]._replace(unreadable=result.unreadable)
        if path in details.answers and result.reading is not None:
            reading = result.reading
            answers[path] = details.answers[path]._replace(
                found=reading.found, undecided=reading.undecided, unreadable=reading.unreadable
            )
    outcome = ScanResult(head.checks, shares, answers)
    return ScanCache(FileStamps(head.digests, head.statuses), known, outcome, head.uses, details.texts)


def _decode(content: bytes, of: type[Record]) -> Record | None:
    """The record of the class `of` that `content` holds; None where it holds none."""
    try:
        found: Record = _unpack(msgspec.msgpack.decode(content, type=_LAYOUTS[of].row))
    except (msgspec.DecodeError, RecursionError):
        return None
    return found
