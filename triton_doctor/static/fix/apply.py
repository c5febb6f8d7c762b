"""Applies the fixes of findings to files in memory, and reports those that failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from triton_doctor.plan import Replacement
from triton_doctor.static.fix.edits import Editor
from triton_doctor.static.fix.text import CannotEditError
from triton_doctor.static.python.pieces import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.plan import Change

OVERLAPS = "it overlaps with another fix"
CHANGED = "the file changed while it was read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """`files` are the new contents by path, `made` the fixed findings, `left` the others with the reason."""

    files: Mapping[str, bytes]
    made: tuple[Finding, ...]
    left: tuple[tuple[Finding, str], ...]


@dataclass(slots=True)
class Workbench:
    """Editors by path, so that each file is parsed once.

    `read` returns a file's bytes, None if it changed meanwhile.
    """

    read: Callable[[str], bytes | None]
    _editors: dict[str, Editor] = field(default_factory=dict)

    def apply(self, findings: Iterable[Finding]) -> Applied:
        """Apply all fixes of `findings` that are compatible. Of two that overlap, the later is left."""
        active, left = list(findings), list[tuple["Finding", str]]()
        while True:
            files: dict[str, bytes] = {}
            failed: tuple[frozenset[Change], str] | None = None
            for path, changes in _by_path(active).items():
                try:
                    files[path] = self._edited(path, changes)
                except _FailedError as error:
                    failed = error.changes, error.why
                    break
            if failed is None:
                return Applied(files=files, made=tuple(active), left=tuple(left))
            out = [finding for finding in active if not failed[0].isdisjoint(_changes(finding))]
            left += [(finding, failed[1]) for finding in out]
            active = [finding for finding in active if finding not in out]

    def replacements(self, finding: Finding) -> tuple[Replacement, ...]:
        """Return the replacements of the fix of `finding` alone; empty if it fails."""
        found = []
        for path, changes in _by_path([finding]).items():
            try:
                text = self._editor(path).text
                edits = sorted(owned.edit for owned in self._editor(path).edits(changes))
            except (CannotEditError, OSError):
                return ()
            found += [
                Replacement(path=path, start=text.position(edit.start), end=text.position(edit.end), text=edit.text)
                for edit in edits
            ]
        return tuple(found)

    def _editor(self, path: str) -> Editor:
        if path not in self._editors:
            data = self.read(path)
            if data is None:
                raise CannotEditError(CHANGED)
            self._editors[path] = Editor(data)
        return self._editors[path]

    def _edited(self, path: str, changes: Sequence[Change]) -> bytes:
        """Return the file with `changes` applied. Raises _FailedError for the first that fails."""
        every = frozenset(changes)
        try:
            editor = self._editor(path)
        except CannotEditError as error:
            raise _FailedError(every, str(error)) from None
        try:
            owned = sorted(editor.edits(changes), key=lambda owned_edit: owned_edit.edit)
        except CannotEditError as error:
            raise _FailedError(_to_blame(editor, changes), str(error)) from None
        for before, after in pairwise(owned):
            if after.edit.start < before.edit.end:
                later = max(before, after, key=lambda owned_edit: min(map(changes.index, owned_edit.changes)))
                raise _FailedError(later.changes, OVERLAPS)
        result = editor.text.spliced(owned_edit.edit for owned_edit in owned)
        if not _parses(result):
            raise _FailedError(every, "what came out does not parse")
        return result


class _FailedError(Exception):
    """Changes that cannot be applied."""

    def __init__(self, changes: frozenset[Change], why: str) -> None:
        super().__init__(why)
        self.changes, self.why = changes, why


def _to_blame(editor: Editor, changes: Sequence[Change]) -> frozenset[Change]:
    """Return the first of `changes` that fails alone; the last one if they only fail together."""
    for change in changes:
        try:
            list(editor.edits([change]))
        except CannotEditError:
            return frozenset({change})
    return frozenset({changes[-1]})


def _changes(finding: Finding) -> tuple[Change, ...]:
    return finding.fix.changes if finding.fix is not None else ()


def _by_path(findings: Iterable[Finding]) -> dict[str, list[Change]]:
    """Return the changes that fix `findings` by file, each once, in order."""
    found: dict[str, list[Change]] = {}
    for finding in findings:
        for change in _changes(finding):
            changes = found.setdefault(change.path, [])
            if change not in changes:
                changes.append(change)
    return found


def _parses(data: bytes) -> bool:
    try:
        parse(data)
    except (SyntaxError, ValueError):
        return False
    return True
