"""Makes fixes unsafe if they do not account for each occurrence of a kernel's name, in the scan or in other files.

Of other files, those that git tracks or would track are searched; without git, all files of the project. Each is read
once, and only if there is a safe fix of a kernel.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.plan import Safety
from triton_doctor.regular_files import NotRegularError, TooLargeError, read_head, read_regular_file
from triton_doctor.static.project.names.name_occurrences import MOST_BYTES, UNPARSABLE, key_of, may_look_up
from triton_doctor.static.python.occurrences import OccurrenceKind, find_occurrences
from triton_doctor.static.sources.files import EXCLUDED
from triton_doctor.static.sources.git_changes import Repository, listed_files
from triton_doctor.static.sources.notebooks import SUFFIX
from triton_doctor.static.sources.spellings import code_of_markdown, holds_word, without_quoting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from triton_doctor.finding import Finding
from triton_doctor.static.project.names.name_occurrences import KernelNames

# With more other files, or more text in them, no fix that changes a kernel is safe.
MOST_FILES = 10_000
MOST_TEXT = 64 << 20
MORE_THAN_SEARCHED = (
    f"more than {MOST_FILES:,} files that are no Python, or {MOST_TEXT >> 20} MB in them, may name kernels, or some "
    "cannot be read: no fix that changes a kernel is safe"
)
_HEAD_BYTES = 8192
_MARKDOWN = (".md", ".markdown")
# The first bytes of a recording, and of baselines of findings and of compiles, which name kernels and launch none.
_OWN_FILES = (b'{"event":"header",', b'{\n  "schema": 1,\n  "findings": [', b'{\n  "schema": 1,\n  "made_with": {')
_MARKS_OF_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class OtherFiles:
    """The files of the projects that were not scanned as Python.

    `is_cut` says, after the first judgement, whether some could not be searched.
    """

    def __init__(
        self, scanned: Iterable[str], names: Mapping[str, KernelNames], base: Path, projects: Sequence[Path]
    ) -> None:
        """`scanned` are the paths of the scan, relative to `base`. `projects` are the roots of their projects."""
        self._scanned = {os.path.join(base, path) for path in scanned if not path.endswith(SUFFIX)}  # noqa: PTH118
        self._names = names
        self._projects = projects
        self._known: dict[str, bool] = {}
        self.is_cut = False

    def judge(self, finding: Finding) -> Finding:
        """Return the finding; its fix becomes unsafe if an occurrence of the kernel's name is not accounted for."""
        fix = finding.fix
        if fix is None or fix.kernel is None or fix.safety is not Safety.SAFE:
            return finding
        key = key_of(fix.kernel)
        if key not in self._known:
            known = self._names.get(key)
            self._known[key] = known is not None and known.is_accounted and not self._name_any(known)
        return finding if self._known[key] else replace(finding, fix=replace(fix, safety=Safety.UNSAFE))

    def _name_any(self, known: KernelNames) -> bool:
        """Return whether one of the files has one of the names other than in prose, or may have it."""
        texts = self._texts
        return self.is_cut or any(
            _has_in_code(path, code, name) or may_look_up(code, name, known.lookers)
            for path, code in texts
            for name in known.names
        )

    @cached_property
    def _texts(self) -> list[tuple[str, bytes]]:
        """Return the path of each file, and what may be code in it."""
        found, size = list[tuple[str, bytes]](), 0
        for path in dict.fromkeys(self._paths()):
            if path in self._scanned:
                continue
            try:
                data = read_regular_file(path, MOST_TEXT)
            except (FileNotFoundError, NotADirectoryError, NotRegularError):
                continue
            except TooLargeError:
                self.is_cut |= not _is_no_text(read_head(path, _HEAD_BYTES))
                continue
            except OSError:
                self.is_cut = True
                continue
            if not _is_no_text(data):
                found.append((path, _code(path, data)))
                size += len(data)
            if len(found) > MOST_FILES or size > MOST_TEXT:
                self.is_cut = True
            if self.is_cut:
                break
        return found

    def _paths(self) -> Iterator[str]:
        for top, is_repository in dict.fromkeys(map(_top_of, self._projects)):
            try:
                listed = list(listed_files(Repository(top=top))) if is_repository else []
            except DoctorError:  # git is missing, or refuses
                listed = []
            if listed:
                yield from (path.as_posix() for path in listed)
                continue
            if not is_repository:
                yield from (
                    each.path for each in _entries(top.parent.as_posix()) if each.name.endswith((".py", SUFFIX))
                )
            yield from self._walk(top)

    def _walk(self, top: Path) -> Iterator[str]:
        pending = [top.as_posix()]
        while pending:
            for entry in _entries(pending.pop()):
                if not entry.is_dir(follow_symlinks=False):
                    yield entry.path
                elif entry.name not in EXCLUDED:
                    pending.append(entry.path)


def _code(path: str, data: bytes) -> bytes:
    if path.endswith(".py"):
        return data
    return without_quoting(code_of_markdown(data) if path.endswith(_MARKDOWN) else data)


def _has_in_code(path: str, code: bytes, name: str) -> bool:
    """Return whether the `code` of a file has the name other than in prose, or in a definition and uses of its own."""
    if not holds_word(code, name):
        return False
    if len(code) > MOST_BYTES or not path.endswith(".py"):
        return True
    try:
        return any(
            found.kind is OccurrenceKind.OTHER
            or (
                found.kind is OccurrenceKind.USE and (not found.bindings or any(found.bindings) or found.dotted != name)
            )
            for found in find_occurrences(code, name)
        )
    except UNPARSABLE:
        return True


def _is_no_text(data: bytes) -> bool:
    """Return whether a file that begins with `data` is binary, or a recording or baseline of triton-doctor."""
    is_binary = b"\0" in data[:_HEAD_BYTES] and data[:2] not in _MARKS_OF_UTF16
    return is_binary or data.startswith(_OWN_FILES)


def _top_of(project: Path) -> tuple[Path, bool]:
    """Return the folder to search for the kernels of `project`, and whether it is the root of a git repository.

    Outside a repository this is the project itself. Of what lies beside it, only Python files are searched.
    """
    repository = next((parent for parent in (project, *project.parents) if (parent / ".git").exists()), None)
    if repository is not None and (repository == project or repository != Path.home()):
        return repository, True
    return project, False


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
