"""Every file of fixtures/: what is found stands, line by line, as its comments say, and nothing else is found.

`# error: [TRD201]` ends a line where a finding at warning or above is due, `# info: [TRD201]` one where a remark is;
`# error: [TRD201, TRD202]` two of them. `# reveal: per_call [first axis, name]` says how often a value changes, and by
which hints.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.reveals import find_reveals, reveal
from triton_doctor.finding import Severity
from triton_doctor.settings import load_settings
from triton_doctor.static.rules.registry import all_rules
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import find_files
from triton_doctor.static.variability.hints.axis_context import Toward
from triton_doctor.static.variability.hints.hints import HINTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.finding import Finding

FIXTURES = Path(__file__).parent.parent / "fixtures"
PROJECTS = FIXTURES / "projects"
FILES = sorted([*(FIXTURES / "seeds").glob("*.py"), *(FIXTURES / "kernels").glob("*.py")])
ROOTS = sorted({*PROJECTS.glob("*/"), *(settings.parent for settings in PROJECTS.rglob("pyproject.toml"))})
MARK = re.compile(r"# (?P<level>error|info): \[(?P<codes>TRD\d+(?:, TRD\d+)*)\]")


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_file_yields_what_its_comments_say(file: Path) -> None:
    findings = find([file])

    assert said(findings) == sorted(marked(file))


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.relative_to(PROJECTS).as_posix())
def test_project_yields_what_its_comments_say(root: Path) -> None:
    findings = find([root])

    assert said(findings) == sorted(mark for file in files_of(root) for mark in marked(file))


REVEALED = [file for file in FILES if "# reveal:" in file.read_text(encoding="utf-8")]


@pytest.mark.parametrize("file", REVEALED, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_value_is_decided_by_the_hints_that_its_comment_lists(file: Path) -> None:
    settings = load_settings(file)
    path = file.relative_to(FIXTURES).as_posix()

    found = reveal(list(find_files([file], settings, cwd=FIXTURES)), settings, FIXTURES)

    expected = {(path, line): {value} for line, value in find_reveals(file.read_text(encoding="utf-8"))}
    assert {place: found.get(place) for place in expected} == expected


def test_every_hint_of_the_table_is_shown_by_a_fixture() -> None:
    revealed = {value for file in REVEALED for _, value in find_reveals(file.read_text(encoding="utf-8"))}
    listed = {name.strip() for value in revealed for name in value.partition("[")[2].rstrip("]").split(",")}
    rows = {f"{'model: ' if row.toward is Toward.MODEL else ''}{row.name}" for row in HINTS}

    assert rows - listed == set()


def test_every_mark_is_understood() -> None:
    """A comment that looks like a mark and is misspelt would expect nothing."""
    alike = re.compile(r"#\s*(error|warning|info)\s*:?\s*\[")

    misspelt = [
        f"{file.name}:{number}"
        for file in [*FILES, *PROJECTS.rglob("*.py")]
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if len(alike.findall(line)) != len(MARK.findall(line))
    ]

    assert misspelt == []


def find(paths: Sequence[Path]) -> tuple[Finding, ...]:
    settings = load_settings(paths[0])
    return scan(list(find_files(paths, settings, cwd=FIXTURES)), settings, cwd=FIXTURES).findings


def said(findings: Sequence[Finding]) -> list[tuple[str, int, str, str]]:
    return sorted(
        (finding.path, finding.span.line, "info" if finding.severity is Severity.INFO else "error", finding.code)
        for finding in findings
    )


def marked(file: Path) -> Iterator[tuple[str, int, str, str]]:
    """The marks of `file` whose code is that of a check; a seed names codes before there is a check for them."""
    path = file.relative_to(FIXTURES).as_posix()
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        for mark in MARK.finditer(line):
            for code in mark["codes"].split(", "):
                if code in all_rules() or code.startswith("TRD9"):
                    yield (path, number, mark["level"], code)


def files_of(root: Path) -> Iterator[Path]:
    """The files of the project at `root`, less those of projects inside it."""
    for file in root.rglob("*.py"):
        if next(parent for parent in file.parents if parent in ROOTS) == root:
            yield file
