"""Drops TRD104 for variables that the project itself reads: in Python, C++, CMake, or a shell.

`TRITON_WHEEL_DIR` of a workflow and `TRITON_DIST_BACKEND` of a library are no misspellings of Triton's names.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from triton_doctor.finding import Severity
from triton_doctor.regular_files import read_regular_file
from triton_doctor.static.sources.files import EXCLUDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding

CODE = "TRD104"
# Limits of the search; beyond them, findings stay.
_MOST_ENTRIES = 100_000
_MOST_BYTES = 64 << 20
_LARGEST_BYTES = 1 << 20
_READ = re.compile(
    r".*\.(?:py|pyi|c|cc|cpp|cxx|cu|cuh|h|hpp|hip|rs|cmake|sh|bash|ya?ml|toml|ini|cfg|mk|ps1|bat|j2|groovy)"
    r"|CMakeLists\.txt|.*[Dd]ockerfile.*|[Mm]akefile.*|Jenkinsfile.*"
)
# A quoted name passed to a call, unless the call sets it; an entry of `os.environ`, unless it is assigned.
_IN_CODE = (
    rb"(?<![\w.])(?!(?:\w+\s*\.\s*)*(?:set|put|del|unset|pop|add|with)\w*\s*\()[\w.]+\s*\(\s*[bf]?[\"'](%s)[\"']"
    rb"|environ\s*\[\s*[\"'](%s)[\"']\s*\](?!\s*=[^=])|[\"'](%s)[\"']\s+(?:not\s+)?in\s+[\w.]*environ|\$ENV\{(%s)\}"
)
_IN_SHELL = rb"\$\{?(%s)\b|\$\((%s)\)|\benv\.(%s)\b(?!\s*=[^=])|%%(%s)%%"


def leave_out_own(findings: Sequence[Finding], projects: Sequence[Path]) -> Iterator[Finding]:
    """Yield `findings` without those of TRD104 about a variable that the files of `projects` read.

    A read in a shell may be the same misspelling: it only drops infos, not warnings.
    """
    unknown = {finding.facts.word for finding in findings if finding.code == CODE} - {None}
    in_code, in_shell = _read_names(sorted(filter(None, unknown)), projects) if unknown else (set(), set())
    for finding in findings:
        word = finding.facts.word if finding.code == CODE else None
        if word not in in_code and (word not in in_shell or finding.severity > Severity.INFO):
            yield finding


def _read_names(names: Sequence[str], projects: Sequence[Path]) -> tuple[set[str], set[str]]:
    """Return which of `names` some file reads in code, and which in a shell."""
    any_of = "|".join(re.escape(name) for name in names).encode()
    in_code = re.compile(_IN_CODE.replace(b"%s", any_of))
    in_shell = re.compile(_IN_SHELL.replace(b"%%", b"%").replace(b"%s", any_of))
    named = re.compile(any_of)
    found_in_code, found_in_shell = set[str](), set[str]()
    for data in _texts(projects):
        if named.search(data):
            for pattern, found in ((in_code, found_in_code), (in_shell, found_in_shell)):
                for match in pattern.finditer(data):
                    found.add(next(filter(None, match.groups())).decode())
    return found_in_code, found_in_shell


def _texts(projects: Sequence[Path]) -> Iterator[bytes]:
    """Yield the contents of the files that may read a variable."""
    entries, size = 0, 0
    for project in dict.fromkeys(projects):
        for folder, folders, files in os.walk(project):
            folders[:] = [name for name in folders if name not in EXCLUDED]
            entries += len(folders) + len(files)
            if entries > _MOST_ENTRIES or size > _MOST_BYTES:
                return
            for name in filter(_READ.fullmatch, files):
                try:
                    data = read_regular_file(os.path.join(folder, name), _LARGEST_BYTES)  # noqa: PTH118
                except OSError:
                    continue
                size += len(data)
                yield data
