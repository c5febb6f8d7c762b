"""Downgrades fixes that need to know all uses of a kernel, if files outside the scan may use it too.

Python files and notebooks that are ignored, excluded or do not parse are searched as text, each once.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.regular_files import read_regular_file
from triton_doctor.static.project.database.kernel_uses import WORD, MentionedWords, key_of
from triton_doctor.static.sources.files import EXCLUDED
from triton_doctor.static.sources.notebooks import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.database.kernel_uses import KernelUses

# With more files or bytes outside the scan than this, every kernel counts as used there.
MOST_FILES = 2_000
MOST_BYTES = 64 << 20
_MOST_ENTRIES = 200_000
MORE_THAN_SEARCHED = (
    f"more than {MOST_FILES:,} files that were not checked, or {MOST_BYTES >> 20} MB of them, may use the kernels: "
    "no fix that rests on seeing all launches is safe"
)
_SOURCES = (".py", SUFFIX)


class Visibility:
    """Judges fixes that depend on seeing all uses of a kernel.

    `is_cut` says, after the first judgement, whether there was more text than is searched.
    """

    def __init__(
        self,
        python: Mapping[str, bytes],
        uses: Mapping[str, KernelUses],
        unreadable: Iterable[str],
        base: Path,
        projects: Sequence[Path],
    ) -> None:
        """`python` are the scanned files, `unreadable` those that did not parse; paths are relative to `base`.

        `projects` are the roots of their projects.
        """
        self._python = python
        self._uses = uses
        self._unreadable = frozenset(unreadable)
        self._base = base
        self._projects = projects
        self._visible: dict[str, bool] = {}
        self.is_cut = False

    def judge(self, finding: Finding) -> Finding:
        """Return the finding; its fix becomes unsafe or is removed if it needs a use that may be outside the scan."""
        fix, kernel = finding.fix, finding.facts.kernel
        if fix is None or fix.rests_on is None or kernel is None:
            return finding
        if self._is_visible(key_of(fix.rests_on, kernel)):
            return finding
        return replace(finding, fix=replace(fix, safety=fix.unseen) if fix.unseen is not None else None)

    def _is_visible(self, key: str) -> bool:
        """Return whether all uses of the kernel with that key are in the scan; cached by kernel."""
        if key not in self._visible:
            uses = self._uses.get(key)
            self._visible[key] = uses is not None and not uses.is_partial and not self._is_hidden(uses)
        return self._visible[key]

    def _is_hidden(self, uses: KernelUses) -> bool:
        """Return whether a file that was not parsed may use the kernel."""
        texts = self._hidden
        return self.is_cut or any(text.may_use(uses.names, uses.homes) for text in texts)

    @cached_property
    def _hidden(self) -> tuple[MentionedWords, ...]:
        """The words of the files that were not parsed."""
        texts = [_anything_in(self._python[path]) for path in self._unreadable if path in self._python]
        # Launches in notebooks are seen, but fixes do not edit notebooks.
        base = self._base.as_posix()
        scanned = {os.path.join(base, path) for path in self._python if not path.endswith(SUFFIX)}  # noqa: PTH118
        count, size = 0, 0
        for path in self._sources():
            if path in scanned:
                continue
            scanned.add(path)
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

    def _sources(self) -> Iterator[str]:
        """Yield the Python files and notebooks around the projects; some twice if projects are nested."""
        left = _MOST_ENTRIES
        for top, is_repository in dict.fromkeys(map(_top_of, self._projects)):
            if not is_repository:
                yield from (one.path for one in _entries(top.parent.as_posix()) if one.name.endswith(_SOURCES))
            pending = [top.as_posix()]
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


def _top_of(project: Path) -> tuple[Path, bool]:
    """Return the folder to search for uses of the kernels of `project`, and whether it is the root of a git repository.

    Outside a repository this is the project itself, or the folder from which a package is imported; only files directly
    in the latter are searched. Other folders there belong to others.
    """
    repository = next((one for one in (project, *project.parents) if (one / ".git").exists()), None)
    if repository is not None and (repository == project or repository != Path.home()):
        return repository, True
    return (project.parent if (project / "__init__.py").is_file() else project), False


def _anything_in(data: bytes) -> MentionedWords:
    words = frozenset(WORD.findall(data))
    return MentionedWords(words, words)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
